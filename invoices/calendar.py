"""Days: when the schedule runs, and what day it then is for an organization."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils.formats import date_format

# Cron fires enqueue_reminders at this hour, Monday to Friday.
RUN_AT = time(8, 0, tzinfo=UTC)


def is_run_day(day: date) -> bool:
    return day.weekday() < 5


def run_of(day: date) -> datetime:
    """Return the moment of that day's run."""
    return datetime.combine(day, RUN_AT)


def next_run(after: datetime) -> datetime:
    """Return the first run later than that moment: after Friday's it is Monday's."""
    day = after.astimezone(UTC).date()
    while not is_run_day(day) or run_of(day) <= after:
        day += timedelta(days=1)
    return run_of(day)


def local_day(moment: datetime, time_zone: str) -> date:
    """Return the calendar date it is then in that zone; in UTC where no such zone is known."""
    try:
        zone: tzinfo = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        zone = UTC
    return moment.astimezone(zone).date()


def written(day: date) -> str:
    """Write a day inside a sentence, in the sentence's language: 5 Mar 2026."""
    return date_format(day, "j M Y")
