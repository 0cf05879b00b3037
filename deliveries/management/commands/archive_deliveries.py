"""manage.py archive_deliveries: keep the live ledger small, and forget what is kept for a time."""

import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deliveries import ledger

DAYS = 90
# A timedelta's own end; PostgreSQL goes on.
MOST_DAYS = 36_500

EXPLAINED = """
What it does:
  1. moves deliveries that were sent or cancelled more than DAYS ago, with their timelines, to the
     archive. Pages, search and the API show them as before; their dedupe keys stay taken, so a
     click on a two-year-old invoice sends nothing. Dead letters wait for a person and stay, and
     so does whatever else there is of their invoice.
  2. drops text, HTML and attachments of e-mails older than MESSAGE_RETENTION_DAYS. Who got what,
     when and under which subject stays.
  3. deletes the provider's events that came more than PROVIDER_EVENT_RETENTION_DAYS ago. What they
     came to stays, with its steps in the timelines; so does an event about a delivery that a
     person must still judge.

All in small transactions, beside running workers. Stop it whenever you like: the next run goes
on. Twice, or two at once, is as good as once. Let cron run it at night:

  30 2 * * *  manage.py archive_deliveries

Exit code 0 if all was done, 1 if something failed, 2 if it was called wrongly, 3 if the database
does not answer.
"""


class Command(BaseCommand):
    help = (
        "Move deliveries that are long over to the archive, drop old messages' contents and "
        "old provider events."
    )

    def create_parser(self, *names: str, **options: Any) -> CommandParser:
        """Show the examples line by line; Django's own formatter would flow them together."""
        options |= {"formatter_class": RawDescriptionHelpFormatter, "epilog": EXPLAINED}
        return super().create_parser(*names, **options)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than",
            metavar="DAYS",
            default=str(DAYS),
            help=f"days since it was over, 1 at least (default: {DAYS})",
        )
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        ages = _Ages(
            deliveries=_days(options["older_than"]),
            contents=timedelta(days=settings.MESSAGE_RETENTION_DAYS),
            reports=timedelta(days=settings.PROVIDER_EVENT_RETENTION_DAYS),
        )
        if options["dry_run"]:
            self._count(ages)
            return
        try:
            self._archive(ages)
        except KeyboardInterrupt:
            raise CommandError("Stopped. What was done is done; run it again to go on.") from None

    def _count(self, ages: "_Ages") -> None:
        moved = ledger.count_archivable(older_than=ages.deliveries)
        dropped = ledger.count_droppable(older_than=ages.contents)
        forgotten = ledger.count_forgettable(older_than=ages.reports)
        self.stdout.write(
            f"{moved} deliveries would be archived, and the contents of {dropped} messages "
            f"and {forgotten} provider events dropped. Nothing was changed."
        )

    def _archive(self, ages: "_Ages") -> None:
        moved = ledger.Archived(deliveries=0, events=0)
        with _bar("Archiving") as bar:
            total = _total(lambda: ledger.count_archivable(older_than=ages.deliveries))
            task = bar.add_task("", total=total)
            for moved in ledger.archive(older_than=ages.deliveries):
                bar.update(task, completed=moved.deliveries)
        dropped = _follow(
            "Dropping contents",
            ledger.drop_contents(older_than=ages.contents),
            lambda: ledger.count_droppable(older_than=ages.contents),
        )
        forgotten = _follow(
            "Forgetting events",
            ledger.forget_reports(older_than=ages.reports),
            lambda: ledger.count_forgettable(older_than=ages.reports),
        )
        self.stdout.write(
            f"{moved.deliveries} deliveries archived, with {moved.events} steps; "
            f"the contents of {dropped} messages and {forgotten} provider events dropped."
        )


@dataclass(frozen=True, kw_only=True)
class _Ages:
    """How old each has to be."""

    deliveries: timedelta
    contents: timedelta
    reports: timedelta


def _follow(what: str, steps: Iterable[int], count: Callable[[], int]) -> int:
    """Go through the steps, each of which says how many so far; return the last number."""
    done = 0
    with _bar(what) as bar:
        task = bar.add_task("", total=_total(count))
        for done in steps:
            bar.update(task, completed=done)
    return done


def _bar(what: str) -> Progress:
    columns: Iterable[Any] = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())


def _total(count: Callable[[], int]) -> int | None:
    """Count only for somebody who looks."""
    return count() if sys.stderr.isatty() else None


def _days(text: str) -> timedelta:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= MOST_DAYS):
        raise CommandError(
            f"--older-than must be a number of days from 1 to {MOST_DAYS}, not {text!r}.",
            returncode=2,
        )
    return timedelta(days=int(text))
