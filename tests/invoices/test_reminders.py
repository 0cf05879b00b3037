"""Weekday reminders: who gets one, on which day, once."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from freezegun import freeze_time

from deliveries import kinds, ledger
from deliveries.models import Delivery
from deliveries.outcomes import Sent
from invoices import calendar, reminders
from invoices.models import Invoice, Organization
from invoices.overdue import due_pages
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


@pytest.fixture
def overdue(organization: Organization) -> Invoice:
    return make_overdue(organization)


# The schedule


@pytest.mark.parametrize(
    ("after", "then"),
    [
        ("2026-03-02T07:59:59", "2026-03-02T08:00"),  # Monday, before the run
        ("2026-03-02T08:00", "2026-03-03T08:00"),
        ("2026-03-05T12:00", "2026-03-06T08:00"),  # Thursday
        ("2026-03-06T08:00", "2026-03-09T08:00"),  # after Friday's run it is Monday's
        ("2026-03-07T03:00", "2026-03-09T08:00"),
        ("2026-03-08T23:59", "2026-03-09T08:00"),
        ("2028-02-28T09:00", "2028-02-29T08:00"),  # a leap day is a day
    ],
)
def test_the_next_run(after: str, then: str) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    assert calendar.next_run(moment) == datetime.fromisoformat(then).replace(tzinfo=UTC)


@pytest.mark.thorough
def test_a_fortnight_gives_one_reminder_a_weekday(overdue: Invoice) -> None:
    given = []
    for day in range(14):
        with freeze_time(datetime(2026, 3, 6, 8, tzinfo=UTC) + day * DAY):
            command()
            given.append(Delivery.objects.filter(kind="reminder").count())
    per_day = [b - a for a, b in zip([0, *given], given, strict=False)]
    # Friday, Saturday, Sunday, Monday, …
    assert per_day == [1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1]


@freeze_time("2026-03-07 08:00")
def test_a_saturday_says_when_the_next_run_is(overdue: Invoice) -> None:
    said = command()
    assert "Saturday 2026-03-07 has no reminders" in said
    assert "Monday 2026-03-09 08:00 UTC" in said
    assert not Delivery.objects.exists()


@freeze_time("2026-03-03 00:10")
def test_a_run_after_midnight_can_catch_up_for_the_day_before(overdue: Invoice) -> None:
    assert "1 reminders recorded for 2026-03-02" in command("--date", "2026-03-02")
    with freeze_time("2026-03-03 08:00"):
        assert "1 reminders recorded for 2026-03-03" in command()
    keys = set(Delivery.objects.values_list("dedupe_key", flat=True))
    assert keys == {f"reminder:{overdue.pk}:2026-03-0{day}" for day in (2, 3)}


@freeze_time("2026-03-02 08:00")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("2026-03-03", "in the future"),
        ("tomorrow", "must be a day such as 2026-03-02"),
        ("2026-02-30", "must be a day"),
        ("20260302", "must be written as 2026-03-02"),
        ("2026-W10-1", "must be written as 2026-03-02"),
        ("", "must be a day"),
    ],
)
def test_an_impossible_date_is_refused_with_exit_code_2(given: str, said: str) -> None:
    with pytest.raises(CommandError, match=said) as refused:
        call_command("enqueue_reminders", "--date", given)
    assert refused.value.returncode == 2


# Once


def test_a_day_fired_forty_times_records_each_reminder_once(overdue: Invoice) -> None:
    assert [run() for _ in range(40)] == [1] + [0] * 39
    flow_tags = Delivery.objects.values_list("fair_tag", flat=True)
    assert list(flow_tags) == [1.0]


@pytest.mark.thorough
def test_fired_again_it_does_not_push_its_flow_into_the_future(
    organization: Organization, overdue: Invoice
) -> None:
    for _ in range(40):
        run()
    make_overdue(organization)
    run()
    assert sorted(Delivery.objects.values_list("fair_tag", flat=True)) == [1.0, 2.0]


def test_a_run_that_dies_in_the_middle_is_finished_by_the_next(
    organization: Organization,
) -> None:
    for _ in range(5):
        make_overdue(organization)
    pages = reminders.record(MONDAY, batch=2)
    next(pages)
    pages.close()
    assert Delivery.objects.count() == 2
    assert [progress.recorded for progress in reminders.record(MONDAY, batch=2)][-1] == 3
    assert Delivery.objects.count() == 5


def test_each_recorded_reminder_is_a_whole_delivery(overdue: Invoice) -> None:
    run()
    delivery = Delivery.objects.get()
    assert (delivery.kind, delivery.lane, delivery.status) == ("reminder", "email", "queued")
    assert delivery.dedupe_key == f"reminder:{overdue.pk}:2026-03-02"
    assert delivery.reference == overdue.number
    assert delivery.requested_by is None
    assert delivery.idempotency_key.startswith("delivery-")
    [event] = delivery.events.all()
    assert (event.type, event.correlation_id) == ("requested", delivery.correlation_id)


def test_a_dry_run_prints_who_would_get_one_and_records_nothing(overdue: Invoice) -> None:
    with freeze_time("2026-03-02 08:00"):
        said = command("--dry-run")
    assert overdue.number in said
    assert "1 invoices would get a reminder" in said
    assert not Delivery.objects.exists()


def test_tags_of_a_run_interleave_organizations(organization: Organization) -> None:
    other = factories.make_organization("nordlicht")
    for _ in range(3):
        make_overdue(organization)
    make_overdue(other)
    run()
    assert Counter(Delivery.objects.values_list("organization_id", "fair_tag")) == Counter(
        [(organization.pk, 1.0), (organization.pk, 2.0), (organization.pk, 3.0), (other.pk, 1.0)]
    )


# Who


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


# Recorded is not sent


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


# Next


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
