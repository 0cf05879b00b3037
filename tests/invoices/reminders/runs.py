"""Overdue invoices, and the runs that remind of them."""

from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Any

from django.core.management import call_command

from invoices import reminders
from invoices.models import Invoice, Organization
from tests import factories

MONDAY = date(2026, 3, 2)


DAY = timedelta(days=1)


def make_overdue(organization: Organization, **values: Any) -> Invoice:
    """An invoice sent in January and due in February."""
    defaults: dict[str, Any] = {
        "issued_on": date(2026, 1, 5),
        "due_on": date(2026, 2, 1),
        "sent_at": datetime(2026, 1, 5, 10, tzinfo=UTC),
    }
    return factories.make_invoice(organization, status="sent", **(defaults | values))


def run(day: date = MONDAY) -> int:
    """Record a day's reminders; return how many were new."""
    made = [progress.recorded for progress in reminders.record(day)]
    return made[-1] if made else 0


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("enqueue_reminders", *arguments, stdout=out)
    return out.getvalue()
