"""Cron on two servers at the same instant, and the worker after it."""

from datetime import UTC, date, datetime, timedelta

import pytest

from deliveries.models import Delivery
from invoicehub.rehearsal.fleet import Fleet
from invoicehub.rehearsal.processes import manage
from invoices.models import Invoice, Organization
from tests import factories


def last_run_day() -> date:
    """The latest weekday that is not in the future."""
    day = datetime.now(UTC).date()
    while day.weekday() > 4:
        day -= timedelta(days=1)
    return day


@pytest.mark.thorough
def test_two_servers_firing_at_once_record_each_reminder_once_and_it_goes_out_once(
    fleet: Fleet, mainland: Organization
) -> None:
    for _ in range(30):
        factories.make_invoice(
            mainland,
            status="sent",
            due_on=date(2026, 2, 1),
            sent_at=datetime(2026, 1, 5, tzinfo=UTC),
        )
    day = str(last_run_day())
    runs = [
        fleet.start(f"cron-{number}", manage("enqueue_reminders", "--date", day))
        for number in range(4)
    ]
    assert [run.wait() for run in runs] == [0, 0, 0, 0]
    assert Delivery.objects.filter(kind="reminder").count() == 30
    paid = Invoice.objects.order_by("pk").first()
    assert paid is not None
    Invoice.objects.filter(pk=paid.pk).update(status="paid")
    assert fleet.start_worker("--once").wait() == 0
    assert Delivery.objects.filter(status="sent").count() == 29
    assert Delivery.objects.get(invoice=paid).status == "cancelled"
    subjects = [message["subject"] for message in fleet.provider.messages()]
    assert len(subjects) == len(set(subjects)) == 29
    assert all("days overdue" in subject for subject in subjects)
