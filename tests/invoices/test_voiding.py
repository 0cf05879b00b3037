"""Void: on record, and nobody is asked to pay."""

import base64
import io

import pypdf
import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries import kinds
from deliveries.models import Delivery
from invoices.models import Invoice
from tests import factories
from tests.ledger import steps
from tests.reading import text

WHY = {"reason": "Ordered twice"}


def printed(pdf: bytes) -> str:
    return pypdf.PdfReader(io.BytesIO(pdf)).pages[0].extract_text()


def status(invoice: Invoice) -> str:
    invoice.refresh_from_db()
    return invoice.status


def test_it_asks_why(as_owner: Client, invoice: Invoice) -> None:
    page = f"/invoices/{invoice.pk}/void"
    assert page in text(as_owner.get(f"/invoices/{invoice.pk}"))
    assert "Why is it void?" in text(as_owner.get(page))
    assert "Say why" in text(as_owner.post(page, {"reason": " "}))
    assert "single line" in text(as_owner.post(page, {"reason": "a\u2028b"}))
    assert status(invoice) == "draft"


def test_what_waits_is_cancelled_with_the_reason(
    as_owner: Client, owner: User, invoice: Invoice
) -> None:
    delivery = factories.make_delivery(invoice)
    for _click in range(2):
        assert as_owner.post(f"/invoices/{invoice.pk}/void", WHY).status_code == 302
    assert status(invoice) == "void"
    assert invoice.voided_at is not None
    assert steps.fresh(delivery).status == "cancelled"
    event = steps.last_event(delivery)
    assert (event.sentence, event.actor) == ("INV-0001 was voided: Ordered twice", owner)
    assert steps.events(delivery).count("cancelled") == 1


def test_what_is_being_sent_is_left_to_its_worker(as_owner: Client, invoice: Invoice) -> None:
    delivery = factories.make_delivery(invoice)
    steps.claim_one()
    assert "under way" in text(as_owner.get(f"/invoices/{invoice.pk}/void"))
    as_owner.post(f"/invoices/{invoice.pk}/void", WHY)
    assert (status(invoice), steps.fresh(delivery).status) == ("void", "running")


@pytest.mark.parametrize(
    ("outcome", "then"), [(steps.REFUSED, "cancelled"), (steps.UNKNOWN, "dead")]
)
def test_a_dead_email_that_may_have_arrived_goes_on_saying_so(
    as_owner: Client, invoice: Invoice, outcome: object, then: str
) -> None:
    delivery = factories.make_delivery(invoice)
    claim = steps.claim_one()
    steps.hand_over(claim)
    steps.settle(claim, outcome)  # type: ignore[arg-type]
    as_owner.post(f"/invoices/{invoice.pk}/void", WHY)
    assert (status(invoice), steps.fresh(delivery).status) == ("void", then)


def test_a_sent_invoice_is_voided_and_its_timeline_says_so(
    as_owner: Client, invoice: Invoice
) -> None:
    delivery = factories.make_delivery(invoice)
    steps.bring_to(delivery, "sent")
    as_owner.post(f"/invoices/{invoice.pk}/void", WHY)
    assert status(invoice) == "void"
    page = text(as_owner.get(f"/invoices/{invoice.pk}"))
    assert "INV-0001 was voided: Ordered twice" in page
    assert "/void" not in page


def test_the_document_of_a_voided_draft_bears_the_mark(as_owner: Client, invoice: Invoice) -> None:
    address = f"/invoices/{invoice.pk}/pdf"
    assert "VOID" not in printed(as_owner.get(address).content)
    as_owner.post(f"/invoices/{invoice.pk}/void", WHY)
    assert "VOID" in printed(as_owner.get(address).content)


def test_the_document_that_went_out_stays_as_it_was(as_owner: Client, invoice: Invoice) -> None:
    delivery = factories.make_delivery(invoice)
    claim, message = steps.claim_one(), kinds.get("invoice").compose(delivery)
    steps.hand_over(claim, message)
    steps.settle(claim, steps.SENT)
    as_owner.post(f"/invoices/{invoice.pk}/void", WHY)
    assert status(invoice) == "void"
    content = as_owner.get(f"/invoices/{invoice.pk}/pdf").content
    assert content == base64.b64decode(message.attachments[0]["content"])
    assert "VOID" not in printed(content)


def test_a_paid_one_is_not(as_owner: Client, invoice: Invoice) -> None:
    reminder = factories.make_delivery(invoice)
    Invoice.objects.filter(pk=invoice.pk).update(status="paid")
    as_owner.post(f"/invoices/{invoice.pk}/void", WHY)
    assert status(invoice) == "paid"
    assert steps.fresh(reminder).status == Delivery.Status.QUEUED


def test_viewers_and_outsiders_may_not(
    client: Client, viewer: User, outsider: User, invoice: Invoice
) -> None:
    for user, code in ((viewer, 403), (outsider, 404)):
        client.force_login(user)
        assert client.get(f"/invoices/{invoice.pk}/void").status_code == code
        assert client.post(f"/invoices/{invoice.pk}/void", WHY).status_code == code
    assert status(invoice) == "draft"


def test_other_methods_are_refused(as_owner: Client, invoice: Invoice) -> None:
    assert as_owner.put(f"/invoices/{invoice.pk}/void").status_code == 405


def test_voiding_a_draft_is_told_on_its_page(as_owner: Client, invoice: Invoice) -> None:
    as_owner.post(f"/invoices/{invoice.pk}/void", {"reason": "Written twice", "sure": "on"})
    page = as_owner.get(f"/invoices/{invoice.pk}").content.decode()
    assert "INV-0001 was voided: Written twice" in page
    assert [event.sentence for event in invoice.events.all()] == [
        "INV-0001 was voided: Written twice"
    ]
