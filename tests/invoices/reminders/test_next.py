"""The next reminder that a page foretells is what the run does."""

from datetime import UTC, date, datetime

import pytest

from invoices import reminders
from invoices.models import Invoice, Organization
from invoices.overdue import due_pages
from tests import factories
from tests.invoices.reminders.runs import DAY, MONDAY, make_overdue, run


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (datetime(2026, 3, 2, 7, tzinfo=UTC), datetime(2026, 3, 2, 8, tzinfo=UTC)),
        (datetime(2026, 3, 6, 9, tzinfo=UTC), datetime(2026, 3, 9, 8, tzinfo=UTC)),
    ],
)
def test_the_next_reminder_of_an_overdue_invoice_is_the_next_run(
    overdue: Invoice, now: datetime, then: datetime
) -> None:
    assert reminders.next_reminder(overdue, now=now, already=0) == then


def test_the_next_reminder_of_an_invoice_not_yet_due_is_the_first_run_after(
    organization: Organization,
) -> None:
    invoice = make_overdue(organization, due_on=date(2026, 3, 13))  # A Friday.
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert reminders.next_reminder(invoice, now=now, already=0) == datetime(
        2026, 3, 16, 8, tzinfo=UTC
    )


def test_a_day_that_has_its_reminder_before_its_hour_is_not_foretold_again(
    overdue: Invoice,
) -> None:
    early = datetime(2026, 3, 2, 7, tzinfo=UTC)
    then = datetime(2026, 3, 3, 8, tzinfo=UTC)
    assert reminders.next_reminder(overdue, now=early, already=1, last=MONDAY) == then
    before = MONDAY - 3 * DAY
    assert reminders.next_reminder(overdue, now=early, already=1, last=before) == (
        datetime(2026, 3, 2, 8, tzinfo=UTC)
    )


def test_there_is_no_next_reminder_past_the_limit_or_when_paused(overdue: Invoice) -> None:
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    overdue.organization.reminder_limit = 1
    assert reminders.next_reminder(overdue, now=now, already=1) is None
    overdue.organization.reminder_limit = None
    overdue.reminders_paused = True
    assert reminders.next_reminder(overdue, now=now, already=1) is None


def test_what_next_reminder_foretells_is_what_the_run_does(organization: Organization) -> None:
    invoices = [make_overdue(organization, due_on=MONDAY + day * DAY) for day in range(-3, 12)]
    foretold = {
        invoice.pk: reminders.next_reminder(
            invoice, now=datetime(2026, 3, 2, 7, tzinfo=UTC), already=0
        )
        for invoice in invoices
    }
    first: dict[int, date] = {}
    for offset in range(21):
        for page in due_pages(MONDAY + offset * DAY):
            for due in page.due:
                first.setdefault(due.invoice_id, MONDAY + offset * DAY)
    assert first == {pk: moment.date() for pk, moment in foretold.items() if moment}


@pytest.mark.parametrize("zone", ["Mars/Base", "localtime", ""])
def test_an_organization_with_an_impossible_zone_does_not_end_the_run(
    overdue: Invoice, zone: str
) -> None:
    there = factories.make_organization("there", time_zone=zone)
    late = make_overdue(there)
    assert run() == 2
    assert reminders.days_overdue(late, MONDAY) == 29
