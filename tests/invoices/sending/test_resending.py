"""Sending once more: a customer lost it, or it was given up."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from deliveries.models import Delivery, DeliveryEvent
from deliveries.outcomes import Dead, Outcome
from invoices.models import Invoice, Organization
from tests import factories
from tests.invoices.drafts.form import edited, shown
from tests.ledger import steps
from tests.reading import text

JSON = {"Accept": "application/json"}
REFUSED = steps.REFUSED
TIMED_OUT = Dead(
    reason=Delivery.DeadReason.GAVE_UP, error="Given up after 16 attempts.", may_have_accepted=True
)


@pytest.fixture
def as_owner(owner: User) -> Client:
    browser = Client(headers={"Accept": "text/html"})
    browser.force_login(owner)
    return browser


def brought_to(invoice: Invoice, outcome: Outcome, *, ago: timedelta = timedelta(0)) -> Delivery:
    """Send the invoice and let the provider answer."""
    now = timezone.now() - ago
    delivery = factories.make_delivery(invoice, now=now)
    claim = steps.claim_one(now=now)
    steps.hand_over(claim, now=now)
    steps.settle(claim, outcome, now=now)
    invoice.refresh_from_db()
    return steps.fresh(delivery)


def again(invoice: Invoice, **values: Any) -> dict[str, Any]:
    return {"number": "1", "reason": "They lost it.", **values}


def died_at(client: Client, invoice: Invoice) -> str:
    return shown(text(client.get(f"/invoices/{invoice.pk}/retry")), "died_at")


# Again ----------------------------------------------------------------------------------------


def test_a_sent_invoice_is_sent_again_with_a_reason_in_the_timeline(
    as_owner: Client, invoice: Invoice
) -> None:
    brought_to(invoice, steps.SENT)
    page = f"/invoices/{invoice.pk}/send-again"
    assert page in text(as_owner.get(f"/invoices/{invoice.pk}"))
    asked = text(as_owner.get(page))
    assert "accounts@mamaput.example" in asked
    assert shown(asked, "number") == "1"
    assert as_owner.post(page, again(invoice)).status_code == 302
    second = Delivery.objects.get(dedupe_key=f"invoice:{invoice.pk}:again:1")
    [event] = second.events.all()
    assert event.sentence == "Sending was requested: They lost it."
    invoice.refresh_from_db()
    assert invoice.status == "sent"
    assert "They lost it." in text(as_owner.get(f"/invoices/{invoice.pk}"))


def test_a_double_click_is_one_email(as_owner: Client, invoice: Invoice) -> None:
    brought_to(invoice, steps.SENT)
    page = f"/invoices/{invoice.pk}/send-again"
    one, other = (as_owner.post(page, again(invoice), headers=JSON) for _ in range(2))
    assert one.status_code == other.status_code == 202
    assert one.json() == other.json()
    assert one.headers["Location"] == f"/deliveries/{one.json()['deliveryId']}"
    assert Delivery.objects.count() == 2


def test_an_old_page_sends_nothing(as_owner: Client, invoice: Invoice) -> None:
    brought_to(invoice, steps.SENT)
    page = f"/invoices/{invoice.pk}/send-again"
    for number in ("0", "2", "7"):
        as_owner.post(page, again(invoice, number=number))
    # The number 0 names the first sending: it is found, not repeated.
    assert Delivery.objects.count() == 1
    as_owner.post(page, again(invoice))
    answer = as_owner.post(page, again(invoice, number="2"), headers=JSON)
    assert (answer.status_code, Delivery.objects.count()) == (409, 2)


@pytest.mark.parametrize(
    "values", [{"reason": ""}, {"reason": "a\nb\0"[:3]}, {"number": "x"}, {"number": "-1"}]
)
def test_it_asks_why(as_owner: Client, invoice: Invoice, values: dict[str, str]) -> None:
    brought_to(invoice, steps.SENT)
    page = f"/invoices/{invoice.pk}/send-again"
    assert as_owner.post(page, again(invoice, **values)).status_code == 200
    assert as_owner.post(page, again(invoice, **values), headers=JSON).status_code == 400
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize("status", ["draft", "sending", "failed", "void"])
def test_what_has_not_left_is_not_sent_again(
    as_owner: Client, invoice: Invoice, status: str
) -> None:
    Invoice.objects.filter(pk=invoice.pk).update(status=status, failure_reason="x")
    page = f"/invoices/{invoice.pk}/send-again"
    assert as_owner.get(page).status_code == 302
    assert as_owner.post(page, again(invoice, number="0"), headers=JSON).status_code == 409
    assert not Delivery.objects.exists()


def test_an_imported_invoice_is_sent_from_here_for_the_first_time(
    as_owner: Client, invoice: Invoice
) -> None:
    Invoice.objects.filter(pk=invoice.pk).update(status="paid")
    as_owner.post(f"/invoices/{invoice.pk}/send-again", again(invoice, number="0"))
    assert Delivery.objects.get().dedupe_key == f"invoice:{invoice.pk}"


# Retry ----------------------------------------------------------------------------------------


def test_a_refused_email_is_corrected_and_retried_in_one_go(
    as_owner: Client, owner: User, invoice: Invoice
) -> None:
    dead = brought_to(invoice, REFUSED)
    page = text(as_owner.get(f"/invoices/{invoice.pk}"))
    assert "Correct and retry" in page
    form = edited(as_owner, invoice, to="right@mamaput.example", retry="1")
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", form).status_code == 302
    invoice.refresh_from_db()
    assert (invoice.status, invoice.to) == ("sending", ["right@mamaput.example"])
    put_back = steps.fresh(dead)
    assert (put_back.status, put_back.idempotency_key != dead.idempotency_key) == ("queued", True)
    corrected, replayed = invoice.events.get(), dead.events.get(type="replayed")
    assert corrected.sentence == "The invoice was corrected."
    assert corrected.actor == replayed.actor == owner


def test_a_double_click_on_save_and_send_again_is_one(as_owner: Client, invoice: Invoice) -> None:
    dead = brought_to(invoice, REFUSED)
    form = edited(as_owner, invoice, notes="Right now", retry="1")
    for _click in range(2):
        assert as_owner.post(f"/invoices/{invoice.pk}/edit", form).status_code == 302
    assert dead.events.filter(type=DeliveryEvent.Type.REPLAYED).count() == 1


def test_a_correction_that_is_refused_sends_nothing(as_owner: Client, invoice: Invoice) -> None:
    dead = brought_to(invoice, REFUSED)
    form = edited(as_owner, invoice, retry="1", version="old", notes="x")
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", form).status_code == 409
    form = edited(as_owner, invoice, retry="1", notes="x", died_at="nonsense")
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", form).status_code == 409
    invoice.refresh_from_db()
    assert (steps.fresh(dead).status, invoice.notes) == ("dead", "")


def test_saving_alone_tells_the_timeline_and_leaves_the_email_dead(
    as_owner: Client, invoice: Invoice
) -> None:
    dead = brought_to(invoice, REFUSED)
    as_owner.post(f"/invoices/{invoice.pk}/edit", edited(as_owner, invoice, notes="Later"))
    assert invoice.events.get().sentence == "The invoice was corrected."
    assert steps.fresh(dead).status == "dead"


def test_while_the_provider_may_have_it_the_same_email_goes_and_no_correction(
    as_owner: Client, invoice: Invoice
) -> None:
    form = edited(as_owner, invoice, notes="x", retry="1")
    dead = brought_to(invoice, TIMED_OUT)
    # What the customer may have in hand does not change meanwhile.
    assert as_owner.get(f"/invoices/{invoice.pk}/edit").status_code == 302
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", form).status_code == 409
    assert "Send the same e-mail again" in text(as_owner.get(f"/invoices/{invoice.pk}/retry"))
    moment = died_at(as_owner, invoice)
    as_owner.post(f"/invoices/{invoice.pk}/retry", {"died_at": moment})
    put_back = steps.fresh(dead)
    assert (put_back.status, put_back.idempotency_key) == ("queued", dead.idempotency_key)


def test_when_nobody_can_tell_it_wants_a_tick(as_owner: Client, invoice: Invoice) -> None:
    dead = brought_to(invoice, TIMED_OUT, ago=timedelta(hours=25))
    page = f"/invoices/{invoice.pk}/retry"
    form = {"died_at": died_at(as_owner, invoice)}
    assert "I have checked that the customer does not have it." in text(as_owner.get(page))
    assert "Tick that you have checked" in text(as_owner.post(page, form), 409)
    edit = edited(as_owner, invoice, notes="Second try", retry="1")
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", edit).status_code == 409
    invoice.refresh_from_db()
    assert (steps.fresh(dead).status, invoice.notes) == ("dead", "")
    as_owner.post(f"/invoices/{invoice.pk}/edit", edit | {"confirmed": "1"})
    invoice.refresh_from_db()
    assert (steps.fresh(dead).status, invoice.notes) == ("queued", "Second try")


def test_a_second_click_on_an_old_page_replays_no_later_death(
    as_owner: Client, invoice: Invoice
) -> None:
    dead = brought_to(invoice, REFUSED, ago=timedelta(minutes=5))
    form = {"died_at": died_at(as_owner, invoice)}
    page = f"/invoices/{invoice.pk}/retry"
    as_owner.post(page, form)
    now = timezone.now()
    claim = steps.claim_one(now=now)
    steps.settle(claim, REFUSED, now=now)
    as_owner.post(page, form)
    assert steps.fresh(dead).status == "dead"


def test_a_dead_second_email_of_a_sent_invoice_is_put_back_without_an_edit(
    as_owner: Client, invoice: Invoice
) -> None:
    brought_to(invoice, steps.SENT)
    as_owner.post(f"/invoices/{invoice.pk}/send-again", again(invoice))
    claim = steps.claim_one(now=timezone.now())
    steps.settle(claim, REFUSED, now=timezone.now())
    page = text(as_owner.get(f"/invoices/{invoice.pk}"))
    assert "Retry as it is" in page
    assert not re.search("Correct and retry|/send-again", page)
    as_owner.post(f"/invoices/{invoice.pk}/retry", {"died_at": died_at(as_owner, invoice)})
    assert Delivery.objects.get(pk=claim.delivery_id).status == "queued"


# Who may --------------------------------------------------------------------------------------

PAGES = ("send-again", "retry")


def test_viewers_may_not(client: Client, viewer: User, invoice: Invoice) -> None:
    brought_to(invoice, REFUSED)
    client.force_login(viewer)
    client.defaults["HTTP_ACCEPT"] = "text/html"
    for page in PAGES:
        assert client.get(f"/invoices/{invoice.pk}/{page}").status_code == 403
        assert client.post(f"/invoices/{invoice.pk}/{page}").status_code == 403
    assert not re.search("/retry|/edit", text(client.get(f"/invoices/{invoice.pk}")))


def test_outsiders_find_nothing(client: Client, outsider: User, invoice: Invoice) -> None:
    client.force_login(outsider)
    for page in PAGES:
        assert client.get(f"/invoices/{invoice.pk}/{page}").status_code == 404
        assert client.post(f"/invoices/{invoice.pk}/{page}").status_code == 404


def test_other_methods_are_refused(as_owner: Client, invoice: Invoice) -> None:
    for page in PAGES:
        assert as_owner.delete(f"/invoices/{invoice.pk}/{page}").status_code == 405


# What is corrected, and where ---------------------------------------------------------------------


def test_save_and_send_again_without_a_change_says_nothing_of_a_correction(
    as_owner: Client, invoice: Invoice
) -> None:
    Invoice.objects.update(notes="Two lines,\nas they were imported.")
    dead = brought_to(invoice, REFUSED)
    form = edited(as_owner, invoice, retry="1", notes="Two lines,\r\nas they were imported.")
    page = text(as_owner.post(f"/invoices/{invoice.pk}/edit", form, follow=True))
    assert "INV-0001 is being sent again." in page
    assert "corrected" not in page
    told = dead.events.values_list("type", "sentence")
    assert "replayed" in {type_ for type_, _ in told}
    assert not [sentence for _, sentence in told if "correct" in sentence]


@pytest.mark.parametrize("page", ["", "/retry", "/edit"])
def test_what_is_wrong_with_the_customer_is_put_right_there(
    as_owner: Client, organization: Organization, page: str
) -> None:
    invoice = factories.make_invoice(organization, email="nobody")
    brought_to(invoice, REFUSED)
    address = f"/invoices/{invoice.pk}{page}"
    customer = f"/customers/{invoice.customer_id}?next={address}"
    shown_page = text(as_owner.get(address))
    assert f'class="button first" href="{customer}">Correct the customer' in shown_page
    form = {
        "name": "Mama Put Kitchen",
        "email": "accounts@mamaput.example",
        "address": invoice.customer.address,
        "seen": shown(text(as_owner.get(customer)), "seen"),
    }
    saved = as_owner.post(customer, form)
    assert (saved.status_code, saved.headers["Location"]) == (302, address)
    assert "Correct the customer" not in text(as_owner.get(address))
    panel = text(as_owner.get(f"/invoices/{invoice.pk}"))
    assert ">Retry</a>" in panel
    assert "Retry as it is" not in panel


def test_what_was_not_corrected_goes_as_it_is(as_owner: Client, invoice: Invoice) -> None:
    brought_to(invoice, REFUSED)
    page = text(as_owner.get(f"/invoices/{invoice.pk}"))
    assert "Retry as it is" in page
    assert "Correct the customer" not in page


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "x", "///e.example"]
)
def test_saving_a_customer_leads_to_no_other_site(
    as_owner: Client, invoice: Invoice, elsewhere: str
) -> None:
    page = f"/customers/{invoice.customer_id}"
    form = {
        "name": "Mama",
        "email": "a@mamaput.example",
        "seen": shown(text(as_owner.get(page)), "seen"),
    }
    saved = as_owner.post(f"{page}?{urlencode({'next': elsewhere})}", form)
    assert (saved.status_code, saved.headers["Location"]) == (302, page)


def test_what_was_sent_by_other_means_is_sent_from_here_for_the_first_time(
    as_owner: Client, invoice: Invoice
) -> None:
    Invoice.objects.filter(pk=invoice.pk).update(status="sent")
    address = f"/invoices/{invoice.pk}/send-again"
    assert f'href="{address}">Send<' in text(as_owner.get("/invoices?tab=sent"))
    panel = text(as_owner.get(f"/invoices/{invoice.pk}"))
    assert f'href="{address}">Send<' in panel
    assert "No e-mail of this invoice went out from here." in panel
    page = text(as_owner.get(address))
    assert "No e-mail of it went out from here so far." in page
    assert "one more" not in page
    sent = text(as_owner.post(address, again(invoice, number="0"), follow=True))
    assert "INV-0001 is being sent." in sent
