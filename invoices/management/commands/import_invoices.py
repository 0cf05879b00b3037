"""manage.py import_invoices: make drafts of the invoices in a CSV file, all of them or none."""

import io
import shutil
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from invoices import importing, money
from invoices.models import Organization

TEACHING = """
The file needs a header with the columns number, customer_email, currency, issued_on, due_on, and
amount or unit_price; docs/import.md tells of the others. Several lines with one number are one
invoice. Encoding, delimiter, and how dates and numbers are written are found out; where the file
does not tell, the command asks for --dates or --decimal instead of guessing.

See first what would happen:

    manage.py import_invoices march.csv --organization mainland-supplies --dry-run

All or nothing: with one problem in it, nothing of the file is imported. Safe to run twice: the
second time the invoices exist already, which is a problem by line; with --skip-existing only new
ones are imported. Exit code 0: imported (or, with --dry-run, could be); 1: problems, nothing
changed; 2: wrong usage, or the file cannot be read.
"""


class Command(BaseCommand):
    help = "Import a CSV file of invoices as drafts.\n" + TEACHING

    def create_parser(self, *names: str, **options: Any) -> CommandParser:
        """Keep the lines of the help as they are: its examples are to be copied."""
        options["formatter_class"] = RawDescriptionHelpFormatter
        return super().create_parser(*names, **options)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE.csv", type=Path)
        parser.add_argument("--organization", required=True, metavar="SLUG")
        parser.add_argument(
            "--dry-run", action="store_true", help="print what would happen, change nothing"
        )
        parser.add_argument(
            "--skip-existing", action="store_true", help="leave out invoices that exist already"
        )
        parser.add_argument("--delimiter", help="comma, semicolon, tab or bar (default: found out)")
        parser.add_argument(
            "--dates",
            choices=["dmy", "mdy", "iso"],
            help="how dates with slashes are written (default: as all lines of the file tell)",
        )
        parser.add_argument(
            "--decimal",
            choices=[",", "."],
            metavar="MARK",
            help="the decimal mark, a comma or a point (default: as the file tells)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        organization = _organization(options["organization"])
        source = _source(options["file"])
        run = importing.check if options["dry_run"] else importing.import_file
        try:
            with _progress(source.size) as tick:
                report = run(source, organization, _options(options), tick=tick)
        except importing.Unreadable as refusal:
            raise CommandError(str(refusal), returncode=2) from None
        except OSError as error:
            raise CommandError(f"The file cannot be read: {error}", returncode=2) from None
        self._say_how_it_was_read(report)
        if report.problem_count:
            self.stderr.write(_table(report))
            raise CommandError(_refusal(report), returncode=1)
        self._say_what_happened(report)

    def _say_how_it_was_read(self, report: importing.Report) -> None:
        layout, conventions = report.layout, report.conventions
        if layout is None:
            return
        read = f"Read as {layout.encoding_name}, delimiter {report.delimiter_name}"
        if conventions and not conventions.undecided:
            read += f", decimal mark “{conventions.decimal}”"
            read += f", dates {conventions.dates}" if conventions.dates else ""
        self.stdout.write(f"{read}.")
        if layout.unknown:
            self.stdout.write("Ignored columns: " + ", ".join(f"“{n}”" for n in layout.unknown))

    def _say_what_happened(self, report: importing.Report) -> None:
        summary = report.summary
        for code, minor in summary.totals:
            self.stdout.write(f"Total {money.format_amount(minor, code, 'en')}")
        verb = "imported as drafts" if report.imported else "would be imported; nothing changed"
        self.stdout.write(
            f"{summary.invoices:,} invoices ({summary.lines:,} lines, "
            f"{summary.new_customers:,} new customers) {verb}."
        )
        if summary.unnamed:
            self.stdout.write(f"{summary.unnamed:,} have no customer name, and will show none.")
        if report.existing_skipped:
            self.stdout.write(f"{report.existing_skipped:,} existed already and were left out.")


def _organization(slug: str) -> Organization:
    try:
        return Organization.objects.get(slug=slug, closed_at__isnull=True)
    except Organization.DoesNotExist:
        raise CommandError(f"There is no organization {slug!r}.", returncode=2) from None


def _source(path: Path) -> importing.Source:
    try:
        is_there = path.is_file()
    except (OSError, ValueError):  # too long a name, say
        is_there = False
    if not is_there:
        raise CommandError(f"There is no file {str(path)[:200]!r}.", returncode=2)
    return importing.Source(path=path)


def _options(options: dict[str, Any]) -> importing.Options:
    delimiter = options["delimiter"]
    try:
        mark = importing.named_delimiter(delimiter) if delimiter else None
    except importing.BadValue as refusal:
        raise CommandError(f"--delimiter: {refusal}", returncode=2) from None
    return importing.Options(
        delimiter=mark,
        dates=options["dates"],
        decimal=options["decimal"],
        skip_existing=options["skip_existing"],
    )


@contextmanager
def _progress(size: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr to a person who watches: bytes read, of all passes over the file."""
    columns = (TextColumn("Reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    watched = sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), disable=not watched) as bar:
        line = bar.add_task("", total=size * importing.PASSES)
        yield lambda read: bar.update(line, completed=read)


def _table(report: importing.Report) -> str:
    table = Table("Line", "Column", "It says", "What is wrong", box=None, pad_edge=False)
    for problem in report.problems:
        cells = (str(problem.line), problem.column, problem.value, problem.sentence)
        # Text, not markup: a cell of the file may look like one.
        table.add_row(*(Text(cell) for cell in cells))
    out = io.StringIO()
    width = shutil.get_terminal_size((120, 40)).columns
    Console(file=out, width=max(width, 80)).print(table)
    return out.getvalue()


def _refusal(report: importing.Report) -> str:
    count = report.problem_count
    text = f"Nothing was imported: {count:,} problem{'s' if count > 1 else ''}"
    if count > len(report.problems):
        counts = ", ".join(f"{name or 'line'} {n:,}" for name, n in report.by_column)
        text += f", of which the first {len(report.problems)} are shown ({counts})"
    if report.unclear:
        text += ". Say it with --dates dmy|mdy or --decimal ,|."
    return text
