"""Sending many through the pages: the question, the batch, who may."""

import re
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from deliveries import ledger
from deliveries.models import Delivery
from invoices import bulk_sending
from invoices.models import Batch, Invoice, Organization
from invoices.pages import running_batch_of
from tests import factories
from tests.invoices.sending.test_bulk_sending import make_invoices, send_many
from tests.ledger import steps
from tests.reading import text

pytestmark = pytest.mark.thorough


def said(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text(response)))


def hidden(page: str) -> dict[str, list[str]]:
    """Return the fields of the question's form, to be posted as a browser does."""
    form = page[page.index('name="once"') - 60 : page.index("</section>")]
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form):
        fields.setdefault(name, []).append(value)
    return fields


def ask(client: Client, **form: Any) -> dict[str, list[str]]:
    return hidden(text(client.post("/invoices/send", form)))


# The question -------------------------------------------------------------------------------------


def test_before_sending_the_page_says_how_many_how_much_and_which(
    as_owner: Client, organization: Organization
) -> None:
    invoices = [
        *make_invoices(organization, 11),
        factories.make_invoice(organization, currency="EUR", amount_minor=1_050),
        factories.make_invoice(organization, email="", number="BAD-1"),
        factories.make_invoice(organization, status="paid"),
    ]
    page = said(as_owner.post("/invoices/send", {"invoice": [one.pk for one in invoices]}))
    assert "Send 12 invoices?" in page
    assert "Chosen 14 invoices" in page
    assert "€10.50 ₦495,000.00" in page
    assert "1 whose customer has no e-mail address 1 paid" in page
    assert "The first 10" in page
    assert "And 2 more." in page
    assert not Batch.objects.exists()
    assert not Delivery.objects.exists()


def test_what_is_left_out_is_told_with_its_reason(
    as_owner: Client, organization: Organization
) -> None:
    bad = factories.make_invoice(organization, email="")
    page = said(as_owner.post("/invoices/send", {"invoice": bad.pk}))
    assert "Mama Put Kitchen has no e-mail address: enter one." in page
    assert "None of them can be sent as they are." in page


def test_the_confirmed_form_leads_to_its_batch_and_a_double_click_too(
    as_owner: Client, organization: Organization
) -> None:
    fields = ask(as_owner, invoice=[one.pk for one in make_invoices(organization, 3)])
    first, second = (as_owner.post("/invoices/send", fields) for _ in range(2))
    [batch] = Batch.objects.all()
    assert first.status_code == second.status_code == 303
    assert first.headers["Location"] == second.headers["Location"] == f"/batches/{batch.pk}"
    assert Delivery.objects.count() == 3


def test_all_drafts_of_the_filter_are_sent_and_no_others(
    as_owner: Client, organization: Organization
) -> None:
    for number, status in (("A-1", "draft"), ("A-2", "draft"), ("A-3", "paid"), ("B-1", "draft")):
        factories.make_invoice(organization, number=number, status=status)
    fields = ask(as_owner, all="1", q="a-")
    assert as_owner.post("/invoices/send", fields).status_code == 303
    assert set(Delivery.objects.values_list("reference", flat=True)) == {"A-1", "A-2"}
    assert Batch.objects.get().chosen == "All drafts of a list (2)"


def test_a_choice_that_changed_since_the_question_is_asked_about_again(
    as_owner: Client, organization: Organization
) -> None:
    factories.make_invoice(organization)
    fields = ask(as_owner, all="1")
    factories.make_invoice(organization)
    page = said(as_owner.post("/invoices/send", fields))
    assert "The choice has changed meanwhile: nothing was sent." in page
    assert "Send 2 invoices?" in page
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("once", ["", "x", "1" * 500])
def test_a_form_without_its_one_time_id_is_only_a_question(
    as_owner: Client, invoice: Invoice, once: str
) -> None:
    form = {"invoice": invoice.pk, "confirmed": "1", "once": once}
    assert "Send 1 invoice?" in said(as_owner.post("/invoices/send", form))
    assert not Delivery.objects.exists()


def test_nothing_ticked_leads_back_with_a_word(as_owner: Client, organization: object) -> None:
    for form in ({}, {"all": "1"}):
        page = said(as_owner.post("/invoices/send", form, follow=True))
        assert "There is nothing to send" in page


def test_too_many_lead_back_with_what_to_do(
    as_owner: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_sending, "LIMIT", 1)
    make_invoices(organization, 2)
    page = said(as_owner.post("/invoices/send", {"all": "1"}, follow=True))
    assert "At most 1 invoices can be sent at once" in page


@pytest.mark.parametrize("asked", ["x", "-1", "9" * 30, "9" * 19, "٣", "0"])
def test_odd_ids_are_as_good_as_none(as_owner: Client, invoice: Invoice, asked: str) -> None:
    assert as_owner.post("/invoices/send", {"invoice": asked}).status_code == 404
    assert "Send 1 invoice?" in said(
        as_owner.post("/invoices/send", {"invoice": [asked, invoice.pk]})
    )


def test_another_organizations_invoices_are_never_sent(
    client: Client, invoice: Invoice, outsider: User
) -> None:
    client.force_login(outsider)
    form = {"invoice": invoice.pk, "confirmed": "1", "once": str(uuid.uuid4()), "seal": "x"}
    assert client.post("/invoices/send", form).status_code == 404
    assert not Batch.objects.exists()


def test_the_list_has_a_box_for_each_invoice_and_a_button_for_all_drafts(
    as_owner: Client, organization: Organization
) -> None:
    draft = factories.make_invoice(organization)
    sent = factories.make_invoice(organization, status="sent")
    page = text(as_owner.get("/invoices"))
    assert f'name="invoice" value="{draft.pk}" form="bulk"' in page
    assert f'value="{sent.pk}" form="bulk"' in page
    assert "Send all drafts (1)" in page


# A batch's page -----------------------------------------------------------------------------------


def test_the_batch_says_how_many_are_queued_and_skipped_and_why(
    as_owner: Client, organization: Organization, owner: User
) -> None:
    invoices = [
        *make_invoices(organization, 2),
        factories.make_invoice(organization, status="paid", number="PAID-1"),
        factories.make_invoice(organization, amount_minor=None, number="NONE-1"),
    ]
    batch = send_many(invoices, owner)
    page = said(as_owner.get(f"/batches/{batch.pk}"))
    assert "2 e-mails queued , 2 skipped" in page
    assert "1 paid 1 with something missing or wrong" in page
    assert "Waiting 2" in page
    assert "It is paid." in page
    only = said(as_owner.get(f"/batches/{batch.pk}?state=skipped"))
    assert "The invoice has no amount: enter its lines." in only
    assert invoices[0].number not in only


def test_the_batch_shows_what_became_of_its_emails(
    as_owner: Client, organization: Organization, owner: User
) -> None:
    batch = send_many(make_invoices(organization, 2), owner)
    page = text(as_owner.get(f"/batches/{batch.pk}"))
    assert f'hx-get="/batches/{batch.pk}/state"' in page
    assert re.search(r"<progress[^>]* max=\"2\" value=\"0\"", page)
    now = timezone.now()
    for outcome in (steps.SENT, steps.REFUSED):
        claim = steps.claim_one(now=now)
        steps.hand_over(claim, factories.make_message(), now=now)
        steps.settle(claim, outcome, now=now)
    page = text(as_owner.get(f"/batches/{batch.pk}"))
    assert "hx-get" not in page
    assert "1 e-mail sent , 1 not sent" in said(as_owner.get(f"/batches/{batch.pk}"))
    assert "queued" not in page
    assert "<progress" not in page


def test_what_came_back_is_not_among_the_sent_ones(
    as_owner: Client, organization: Organization, owner: User
) -> None:
    batch = send_many(make_invoices(organization, 2), owner)
    now = timezone.now()
    for claim in steps.claim(now=now):
        steps.settle(claim, steps.SENT, now=now)
    last = Delivery.objects.latest("pk")
    Delivery.objects.filter(pk=last.pk).update(
        after_sending="bounced", after_sending_at=factories.NOW
    )
    page = said(as_owner.get(f"/batches/{batch.pk}"))
    assert "1 e-mail sent" in page
    assert "1 came back" in page
    only = said(as_owner.get(f"/batches/{batch.pk}?state=came_back"))
    assert last.reference in only


def test_the_state_is_answered_only_when_it_changed(
    as_owner: Client, organization: Organization, owner: User
) -> None:
    batch = send_many(make_invoices(organization, 1), owner)
    page = text(as_owner.get(f"/batches/{batch.pk}"))
    seen = re.search(r'"X-Seen": "(\w+)"', page)
    assert seen
    address = f"/batches/{batch.pk}/state"
    assert as_owner.get(address, headers={"x-seen": seen[1]}).status_code == 204
    ledger.cancel(Delivery.objects.get().pk, actor_id=owner.pk, why="A mistake.")
    fragment = text(as_owner.get(address, headers={"x-seen": seen[1]}))
    assert "Cancelled" in fragment
    assert "hx-get" not in fragment


def test_an_interrupted_batch_says_so_and_can_be_continued(
    as_owner: Client, organization: Organization, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(bulk_sending, "_chunk", lambda batch_id: False)
        batch = send_many(make_invoices(organization, 2), owner)
    page = said(as_owner.get(f"/batches/{batch.pk}"))
    assert "0 e-mails queued , 2 not begun" in page
    assert "Go on with the rest" in page
    assert "Interrupted: 2 not begun" in said(as_owner.get("/batches"))
    assert as_owner.post(f"/batches/{batch.pk}/continue").status_code == 303
    assert Delivery.objects.count() == 2
    assert "Go on with the rest" not in said(as_owner.get(f"/batches/{batch.pk}"))


def test_a_delivery_that_was_archived_leaves_the_page_standing(
    as_owner: Client, organization: Organization, owner: User
) -> None:
    batch = send_many(make_invoices(organization, 2), owner)
    batch.items.update(delivery_id=999_999)
    page = said(as_owner.get(f"/batches/{batch.pk}"))
    assert "In the archive 2" in page


def test_the_list_of_batches_is_the_organizations_own(
    client: Client, organization: Organization, owner: User, outsider: User
) -> None:
    batch = send_many(make_invoices(organization, 2), owner)
    client.force_login(owner)
    assert f"Batch {batch.pk}" in said(client.get("/batches"))
    client.force_login(outsider)
    assert "No batches yet" in said(client.get("/batches"))


def test_invoices_of_a_running_batch_say_so_until_they_are_done(
    as_owner: Client, organization: Organization, owner: User
) -> None:
    first, second, other = make_invoices(organization, 3)
    batch = send_many([first, second], owner)
    link = f'<a href="/batches/{batch.pk}">'
    assert link in text(as_owner.get(f"/invoices/{first.pk}"))
    assert link not in text(as_owner.get(f"/invoices/{other.pk}"))
    assert text(as_owner.get("/invoices")).count("Part of a running batch") == 2
    ledger.cancel(
        Delivery.objects.get(invoice=first).pk, actor_id=owner.pk, why="No longer wanted."
    )
    assert list(running_batch_of([first, second, other])) == [second.pk]


# Who may ------------------------------------------------------------------------------------------


def test_viewers_look_at_batches_and_send_none(
    client: Client, organization: Organization, owner: User, viewer: User
) -> None:
    invoices = make_invoices(organization, 1)
    batch = send_many(invoices, owner)
    client.force_login(viewer)
    assert client.get(f"/batches/{batch.pk}").status_code == 200
    assert client.get("/batches").status_code == 200
    assert client.post("/invoices/send", {"invoice": invoices[0].pk}).status_code == 403
    assert client.post(f"/batches/{batch.pk}/continue").status_code == 403
    assert 'id="bulk"' not in text(client.get("/invoices"))


def test_another_organizations_batch_is_not_there(
    client: Client, organization: Organization, owner: User, outsider: User
) -> None:
    batch = send_many(make_invoices(organization, 1), owner)
    client.force_login(outsider)
    assert client.get(f"/batches/{batch.pk}").status_code == 404
    assert client.get(f"/batches/{batch.pk}/state").status_code == 404
    assert client.post(f"/batches/{batch.pk}/continue").status_code == 404


def test_strangers_are_led_to_the_login_form(client: Client, db: None) -> None:
    for address in ("/batches", "/batches/1", "/invoices/import", "/invoices/import/1"):
        assert client.get(address).status_code == 302
    assert client.post("/invoices/send").status_code == 302


def test_each_address_takes_its_own_methods_only(as_owner: Client, db: None) -> None:
    html = {"Accept": "text/html"}
    assert as_owner.get("/invoices/send", headers=html).status_code == 405
    assert as_owner.get("/batches/1/continue", headers=html).status_code == 405
    for address in ("/batches", "/batches/1", "/batches/1/state", "/invoices/import/sample.csv"):
        assert as_owner.post(address, headers=html).status_code == 405
    for address in ("/invoices/import", "/invoices/import/1"):
        assert as_owner.delete(address, headers=html).status_code == 405
