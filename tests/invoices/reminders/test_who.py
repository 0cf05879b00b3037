"""Which invoices are reminded of."""

from datetime import UTC, date, datetime

import pytest

from invoices import reminders
from invoices.models import Invoice, Organization
from tests import factories
from tests.invoices.reminders.runs import DAY, MONDAY, make_overdue, run


@pytest.mark.parametrize("status", ["draft", "sending", "failed", "paid", "void"])
def test_only_a_sent_invoice_is_reminded_of(overdue: Invoice, status: str) -> None:
    Invoice.objects.filter(pk=overdue.pk).update(status=status, failure_reason="x")
    assert run() == 0


@pytest.mark.parametrize(
    ("due_on", "reminded"),
    [(date(2026, 3, 1), True), (date(2026, 3, 2), False), (date(2026, 3, 3), False)],
)
def test_due_before_the_day_is_overdue(
    organization: Organization, due_on: date, reminded: bool
) -> None:
    make_overdue(organization, due_on=due_on)
    assert run() == int(reminded)


def test_an_invoice_first_sent_today_gets_none_today(organization: Organization) -> None:
    make_overdue(organization, sent_at=datetime(2026, 3, 2, 7, tzinfo=UTC))
    assert run(MONDAY) == 0
    assert run(MONDAY + DAY) == 1


@pytest.mark.parametrize(
    ("time_zone", "due_on", "reminded"),
    [
        # At 08:00 UTC on Monday it is Monday, 22:00, on Kiritimati and 02:00 in Chicago,
        # and still Sunday, 21:00, in Pago Pago.
        ("Pacific/Kiritimati", date(2026, 3, 1), True),
        ("Pacific/Kiritimati", date(2026, 3, 2), False),
        ("America/Chicago", date(2026, 3, 1), True),
        ("America/Chicago", date(2026, 3, 2), False),
        ("Pacific/Pago_Pago", date(2026, 2, 28), True),
        ("Pacific/Pago_Pago", date(2026, 3, 1), False),
    ],
)
def test_a_due_date_is_a_date_where_the_organization_is(
    db: None, time_zone: str, due_on: date, reminded: bool
) -> None:
    make_overdue(factories.make_organization("there", time_zone=time_zone), due_on=due_on)
    assert run() == int(reminded)


@pytest.mark.parametrize(
    ("sent_at", "reminded"),
    [
        # Monday in Kiritimati began at 10:00 UTC on Sunday.
        (datetime(2026, 3, 1, 9, 59, tzinfo=UTC), True),
        (datetime(2026, 3, 1, 10, 0, tzinfo=UTC), False),
    ],
)
def test_sent_today_is_a_matter_of_the_organizations_calendar_too(
    db: None, sent_at: datetime, reminded: bool
) -> None:
    there = factories.make_organization("there", time_zone="Pacific/Kiritimati")
    make_overdue(there, sent_at=sent_at)
    assert run() == int(reminded)


def test_the_day_the_clocks_change_counts_as_one_day(db: None) -> None:
    # In Chicago clocks went forward on Sunday, 8 March 2026.
    chicago = factories.make_organization("there", time_zone="America/Chicago")
    invoice = make_overdue(chicago, due_on=date(2026, 3, 8))
    assert run(date(2026, 3, 9)) == 1
    assert reminders.days_overdue(invoice, date(2026, 3, 9)) == 1


def test_an_invoice_due_on_a_leap_day_is_overdue_on_the_first_of_march(
    organization: Organization,
) -> None:
    invoice = make_overdue(organization, due_on=date(2028, 2, 29))
    assert run(date(2028, 2, 29)) == 0
    assert run(date(2028, 3, 1)) == 1
    assert reminders.days_overdue(invoice, date(2028, 3, 1)) == 1


def test_an_organization_can_switch_reminders_off(overdue: Invoice) -> None:
    Organization.objects.update(reminders_enabled=False)
    assert run() == 0


def test_an_organization_can_wait_some_days(organization: Organization) -> None:
    Organization.objects.update(reminders_after_days=7)
    make_overdue(organization, due_on=MONDAY - 7 * DAY)
    make_overdue(organization, due_on=MONDAY - 6 * DAY)
    assert run() == 1


def test_a_pause_of_the_invoice_or_the_customer_holds(organization: Organization) -> None:
    make_overdue(organization, reminders_paused=True)
    paused = make_overdue(organization)
    paused.customer.reminders_paused = True
    paused.customer.save(update_fields=["reminders_paused"])
    assert run() == 0


def test_a_closed_organization_and_a_removed_customer_get_none(overdue: Invoice) -> None:
    overdue.customer.removed_at = factories.NOW
    overdue.customer.save(update_fields=["removed_at"])
    assert run() == 0
    overdue.customer.removed_at = None
    overdue.customer.save(update_fields=["removed_at"])
    Organization.objects.update(closed_at=factories.NOW)
    assert run() == 0


def test_no_more_reminders_than_the_limit(overdue: Invoice) -> None:
    Organization.objects.update(reminder_limit=2)
    assert [run(MONDAY + day * DAY) for day in range(4)] == [1, 1, 0, 0]
    # Fired again, the last day's is recorded already, not one too many.
    assert run(MONDAY + DAY) == 0
