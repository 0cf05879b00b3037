"""A recorded reminder is not sent yet: what happens since then counts."""

from datetime import UTC, date, datetime, timedelta

import pytest
from freezegun import freeze_time

from deliveries import kinds, ledger
from deliveries.models import Delivery
from deliveries.outcomes import Sent
from invoices.models import Invoice, Organization
from tests import factories
from tests.invoices.reminders.runs import DAY, MONDAY, run


def claimed(kind: str = "reminder") -> ledger.Claim:
    ledger.configure("email", limit=5, rate_per_second=None)
    [claim] = ledger.claim(
        "email", worker="w", capacity=1, lease=timedelta(minutes=1), max_claims=3
    )
    assert claim.kind == kind
    return claim


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"status": "paid"}, "was paid"),
        ({"status": "void"}, "was voided"),
        ({"reminders_paused": True}, "paused"),
    ],
)
def test_what_happened_since_cancels_a_recorded_reminder(
    overdue: Invoice, change: dict[str, object], why: str
) -> None:
    run()
    Invoice.objects.filter(pk=overdue.pk).update(**change)
    assert why in kinds.get("reminder").still_wanted(Delivery.objects.get())


def test_after_a_long_outage_only_the_last_days_reminder_goes_out(overdue: Invoice) -> None:
    run(MONDAY)
    run(MONDAY + DAY)
    first, second = Delivery.objects.order_by("pk")
    assert "took its place" in kinds.get("reminder").still_wanted(first)
    assert kinds.get("reminder").still_wanted(second) == ""


def test_a_reminder_says_how_late_it_is_and_carries_the_pdf_as_first_sent(
    organization: Organization,
) -> None:
    invoice = factories.make_invoice(organization, number="INV-0001", due_on=date(2026, 2, 27))
    delivery = factories.make_delivery(invoice, now=None)
    claim = claimed("invoice")
    message = kinds.get("invoice").compose(delivery)
    ledger.begin_hand_over(
        claim, message, needs=timedelta(seconds=1), key_lifetime=timedelta(hours=24)
    )
    ledger.settle(claim, Sent(provider_message_id="msg-1"), worker="w")
    Invoice.objects.update(sent_at=datetime(2026, 2, 1, tzinfo=UTC))
    organization.name = "Renamed Ltd"
    organization.save(update_fields=["name"])
    run(MONDAY)
    with freeze_time("2026-03-02 09:00"):
        reminder = kinds.get("reminder").compose(Delivery.objects.get(kind="reminder"))
    assert reminder.subject == "Reminder: invoice INV-0001 is 3 days overdue"
    assert "3 days overdue" in reminder.text
    assert "3 days overdue" in reminder.html
    assert reminder.attachments == message.attachments


def test_a_settled_reminder_leaves_the_invoice_as_it_is(overdue: Invoice) -> None:
    run()
    ledger.settle(claimed(), Sent(provider_message_id="msg-1"), worker="w")
    before = overdue.sent_at
    overdue.refresh_from_db()
    assert (overdue.status, overdue.sent_at) == ("sent", before)
