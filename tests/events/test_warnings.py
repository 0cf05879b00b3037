"""Wherever a send can be started, what is known against its recipients is told."""

from django.test import Client

from deliveries.models import Delivery
from invoices.models import Invoice
from tests import factories
from tests.events.provider import payload, post
from tests.events.test_pages import Page, next_invoice
from tests.ledger.steps import REFUSED, claim_one, settle

WARNING = "E-mails to accounts@mamaput.example came back on 2 Mar: the mailbox does not exist."


def test_sending_again_warns(page: Page, bounced: Delivery) -> None:
    shown = page(f"/invoices/{bounced.invoice_id}/send-again")
    assert WARNING in shown
    assert "The customer gets one more" not in shown


def test_retrying_and_correcting_warn(page: Page, bounced: Delivery) -> None:
    dead = factories.make_delivery(next_invoice(bounced))
    settle(claim_one(), REFUSED)
    for address in ("", "/retry", "/edit"):
        assert WARNING in page(f"/invoices/{dead.invoice_id}{address}")


def test_an_imported_invoice_warns_before_its_first_email(page: Page, bounced: Delivery) -> None:
    imported = next_invoice(bounced, status="sent")
    for address in ("/invoices", f"/invoices/{imported.pk}", f"/invoices/{imported.pk}/send-again"):
        assert WARNING in page(address)


def test_customers_are_shown_with_it(page: Page, bounced: Delivery) -> None:
    assert WARNING in page("/customers")
    assert WARNING in page(f"/customers/{bounced.invoice.customer_id}")


def test_sending_many_says_why(client: Client, page: Page, bounced: Delivery) -> None:
    draft = next_invoice(bounced)
    answer = client.post("/invoices/send", {"invoice": draft.pk})
    assert WARNING in answer.content.decode()


def test_the_customers_address_does_not_matter_where_others_get_it(
    page: Page, bounced: Delivery
) -> None:
    draft = next_invoice(bounced, to=["books@mamaput.example"])
    assert "came back on" not in page(f"/invoices/{draft.pk}")
    Invoice.objects.filter(pk=draft.pk).update(cc=["Accounts@mamaput.example"])
    assert "E-mails to Accounts@mamaput.example came back on" in page(f"/invoices/{draft.pk}")


def test_a_suppressed_address_is_told_once(page: Page, sent: Delivery) -> None:
    post(payload("suppressed"))
    shown = page(f"/invoices/{next_invoice(sent).pk}")
    assert "The provider sent nothing to accounts@mamaput.example on 2 Mar" in shown
