"""What pages say, and a reminder sent as a worker sends it."""

import re
from datetime import UTC, date, datetime
from typing import Any

from django.test import Client

from deliveries.outcomes import Outcome
from invoices.models import Invoice
from tests import factories
from tests.invoices.reminders.runs import MONDAY
from tests.ledger import steps
from tests.reading import text

FRIDAY = date(2026, 3, 6)


def said(response: Any) -> str:
    """Return what a page says, in one line and without its markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text(response)))


def send_one(outcome: Outcome = steps.SENT, *, day: date = MONDAY, subject: str = "") -> None:
    """Hand the next delivery over as a worker does, ten past the run of that day."""
    now = datetime(day.year, day.month, day.day, 8, 10, tzinfo=UTC)
    claim = steps.claim_one(now=now)
    steps.hand_over(claim, factories.make_message(subject=subject or "Reminder"), now=now)
    steps.settle(claim, outcome, now=now)


def of_page(client: Client, invoice: Invoice) -> str:
    page = said(client.get(f"/invoices/{invoice.pk}"))
    return page[page.index(" Reminders Last") :]
