"""Paid, and not paid after all."""

import logging
from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from freezegun import freeze_time

from deliveries import kinds
from invoices import payments
from invoices.models import Invoice
from tests import factories
from tests.ledger import steps
from tests.reading import text


@pytest.fixture
def sent(invoice: Invoice) -> Invoice:
    steps.bring_to(factories.make_delivery(invoice), "sent")
    return invoice


def status(invoice: Invoice) -> str:
    invoice.refresh_from_db()
    return invoice.status


def test_a_sent_invoice_is_marked_as_paid_with_its_day(
    as_owner: Client, owner: User, sent: Invoice, caplog: pytest.LogCaptureFixture
) -> None:
    page = f"/invoices/{sent.pk}/paid"
    assert page in text(as_owner.get(f"/invoices/{sent.pk}"))
    assert 'type="date"' in text(as_owner.get(page))
    with caplog.at_level(logging.INFO):
        assert as_owner.post(page, {"day": "2026-03-05"}).status_code == 302
    assert status(sent) == "paid"
    assert sent.paid_at == datetime(2026, 3, 5, 11, tzinfo=UTC)  # Noon in Lagos.
    event = sent.events.get()
    assert event.sentence == "INV-0001 was marked as paid on 5 Mar 2026."
    assert event.actor == owner
    [record] = [record for record in caplog.records if record.message == "invoice paid"]
    assert record.__dict__["user"] == owner.pk


def test_twice_is_once(as_owner: Client, sent: Invoice) -> None:
    for day in ("2026-03-05", "2026-03-06"):
        assert as_owner.post(f"/invoices/{sent.pk}/paid", {"day": day}).status_code == 302
    sent.refresh_from_db()
    assert sent.paid_at == datetime(2026, 3, 5, 11, tzinfo=UTC)


@pytest.mark.parametrize("day", ["2999-01-01", "1999-01-01", "", "soon"])
def test_an_impossible_day_is_refused(as_owner: Client, sent: Invoice, day: str) -> None:
    page = text(as_owner.post(f"/invoices/{sent.pk}/paid", {"day": day}))
    assert 'class="errorlist"' in page
    assert status(sent) == "sent"


@freeze_time("2026-03-05 23:30")
def test_today_is_the_organizations(owner: User, sent: Invoice) -> None:
    day = date(2026, 3, 6)  # In Lagos it is the sixth already.
    payments.mark_paid(sent.pk, day=day, organization=sent.organization, user_id=owner.pk)
    with pytest.raises(payments.ImpossibleDay):
        payments.mark_paid(
            sent.pk,
            day=day + timedelta(days=1),
            organization=sent.organization,
            user_id=owner.pk,
        )


@pytest.mark.parametrize("before", ["draft", "sending", "void"])
def test_only_what_was_sent_is_paid(as_owner: Client, invoice: Invoice, before: str) -> None:
    Invoice.objects.filter(pk=invoice.pk).update(status=before)
    as_owner.post(f"/invoices/{invoice.pk}/paid", {"day": "2026-03-05"})
    as_owner.post(f"/invoices/{invoice.pk}/unpaid")
    assert status(invoice) == before
    assert f"/invoices/{invoice.pk}/paid" not in text(as_owner.get(f"/invoices/{invoice.pk}"))


def test_it_can_be_taken_back(as_owner: Client, sent: Invoice) -> None:
    as_owner.post(f"/invoices/{sent.pk}/paid", {"day": "2026-03-05"})
    assert f"/invoices/{sent.pk}/unpaid" in text(as_owner.get(f"/invoices/{sent.pk}"))
    for _click in range(2):
        assert as_owner.post(f"/invoices/{sent.pk}/unpaid").status_code == 302
    assert status(sent) == "sent"
    assert sent.paid_at is None


def test_what_failed_and_was_paid_all_the_same_goes_back_to_failed(
    as_owner: Client, invoice: Invoice
) -> None:
    steps.bring_to(factories.make_delivery(invoice), "dead")
    as_owner.post(f"/invoices/{invoice.pk}/paid", {"day": "2026-03-05"})
    assert status(invoice) == "paid"
    as_owner.post(f"/invoices/{invoice.pk}/unpaid")
    assert status(invoice) == "failed"


def test_a_reminder_that_waits_is_no_longer_wanted(as_owner: Client, sent: Invoice) -> None:
    reminder = factories.make_delivery(sent, key=f"reminder:{sent.pk}:2026-03-20")
    as_owner.post(f"/invoices/{sent.pk}/paid", {"day": "2026-03-05"})
    assert "was paid" in kinds.get("reminder").still_wanted(reminder)


def test_viewers_and_outsiders_may_not(
    client: Client, viewer: User, outsider: User, sent: Invoice
) -> None:
    for user, code in ((viewer, 403), (outsider, 404)):
        client.force_login(user)
        for page in ("paid", "unpaid"):
            answer = client.post(f"/invoices/{sent.pk}/{page}", {"day": "2026-03-05"})
            assert answer.status_code == code
    assert status(sent) == "sent"


def test_other_methods_are_refused(as_owner: Client, sent: Invoice) -> None:
    assert as_owner.get(f"/invoices/{sent.pk}/unpaid").status_code == 405
    assert as_owner.put(f"/invoices/{sent.pk}/paid").status_code == 405
