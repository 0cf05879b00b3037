"""On which days reminders go out."""

from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command
from freezegun import freeze_time

from deliveries.models import Delivery
from invoices import calendar
from invoices.models import Invoice
from tests.invoices.reminders.runs import DAY, command


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
