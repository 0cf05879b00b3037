"""manage.py enqueue_reminders: record the day's reminders of overdue invoices."""

import sys
from argparse import RawDescriptionHelpFormatter
from datetime import UTC, date, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from invoices import overdue, reminders
from invoices.calendar import is_run_day, next_run, run_of

EXAMPLES = """
Let cron fire it at 08:00 UTC, Monday to Friday:

    CRON_TZ=UTC
    0 8 * * 1-5  …/manage.py enqueue_reminders

Twice, late, or from two servers at once is as good as once: each overdue invoice gets one
reminder for a day. It only records them; delivery workers send them. After a night of trouble,
catch up with --date, the day that was missed.
"""


class Command(BaseCommand):
    help = "Record one reminder for each overdue invoice."

    def create_parser(self, *names: str, **options: Any) -> CommandParser:
        """Show the examples line by line; Django's own formatter would flow them together."""
        options |= {"formatter_class": RawDescriptionHelpFormatter, "epilog": EXAMPLES}
        return super().create_parser(*names, **options)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--date",
            metavar="YYYY-MM-DD",
            help="the day whose run this is (default: today in UTC)",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print who would get one, record nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        now = datetime.now(UTC)
        day = _day(options["date"], now)
        if not is_run_day(day):
            self.stdout.write(
                f"{day:%A} {day} has no reminders: nothing recorded. "
                f"The next run is {next_run(run_of(day)):%A %Y-%m-%d %H:%M} UTC."
            )
        elif options["dry_run"]:
            self._print(day)
        else:
            self._record(day)

    def _print(self, day: date) -> None:
        count = known = refused = 0
        for page in overdue.due_pages(day):
            recorded = reminders.recorded_for(day, page.due)
            new = [due for due in page.due if due.invoice_id not in recorded]
            for due in new:
                self.stdout.write(
                    f"{due.organization}\t{due.number}\t{due.customer}\tdue {due.due_on}"
                )
            count += len(new)
            known += len(recorded)
            refused += len(page.refused)
        self.stdout.write(
            f"{count} invoices would get a reminder for {day}"
            + (f"; {known} have theirs already." if known else ".")
            + f" Nothing recorded.{_skipped(refused)}"
        )

    def _record(self, day: date) -> None:
        last = reminders.Progress(found=0, recorded=0)
        columns = (
            TextColumn("Recording reminders"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        console = Console(stderr=True)
        with Progress(*columns, console=console, disable=not sys.stderr.isatty()) as bar:
            total = overdue.count_due(day) if sys.stderr.isatty() else None
            task = bar.add_task("", total=total)
            for last in reminders.record(day):
                bar.update(task, completed=last.found + last.refused)
        known = last.found - last.recorded
        self.stdout.write(
            f"{last.recorded} reminders recorded for {day}"
            + (f"; {known} had been recorded already." if known else ".")
            + _skipped(last.refused)
        )


def _skipped(refused: int) -> str:
    return f" {refused} skipped: every address of theirs refuses e-mail." if refused else ""


def _day(text: str | None, now: datetime) -> date:
    if text is None:
        return now.date()
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise CommandError(
            f"--date must be a day such as {now.date()}, not {text!r}.", returncode=2
        ) from None
    if day.isoformat() != text:
        raise CommandError(f"--date must be written as {day}, not {text!r}.", returncode=2)
    if day > now.date():
        raise CommandError(
            f"--date {day} is in the future: its reminders cannot be known yet.", returncode=2
        )
    return day
