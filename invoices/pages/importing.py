"""What the import page shows of a file: how it was understood, what is wrong, what it comes to."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy

from invoices import importing
from invoices.importing.conventions import Conventions
from invoices.pages.formats import Formats

_DATES = {"dmy": gettext_lazy("day first"), "mdy": gettext_lazy("month first")}
_DECIMALS = {",": gettext_lazy("comma: 1.234,50"), ".": gettext_lazy("point: 1,234.50")}


@dataclass(frozen=True, kw_only=True)
class UnderstoodRow:
    number: str
    customer: str
    issued_on: str
    due_on: str
    amount: str
    lines: int


@dataclass(frozen=True, kw_only=True)
class ImportPage:
    """The check of a file. `ready` says whether it can be imported as it is."""

    ready: bool
    problems: tuple[importing.Problem, ...]
    problem_count: int
    more_problems: int
    by_column: tuple[tuple[str, int], ...]
    encoding: str
    delimiter: str
    dates: str
    decimal: str
    ignored: tuple[str, ...]
    invoices: int
    lines: int
    new_customers: int
    unnamed: int
    existing_skipped: int
    totals: tuple[str, ...]
    rows: tuple[UnderstoodRow, ...]


def _dates(conventions: Conventions | None) -> str:
    if conventions is None or "dates" in conventions.undecided:
        return ""
    return str(_DATES.get(conventions.dates or "", ""))


def _decimal(conventions: Conventions | None) -> str:
    if conventions is None or "decimal" in conventions.undecided:
        return ""
    return str(_DECIMALS[conventions.decimal])


def import_page(report: importing.Report, *, formats: Formats) -> ImportPage:
    summary, layout, conventions = report.summary, report.layout, report.conventions
    return ImportPage(
        ready=not report.problem_count and summary.invoices > 0,
        problems=report.problems,
        problem_count=report.problem_count,
        more_problems=report.problem_count - len(report.problems),
        by_column=report.by_column if len(report.by_column) > 1 else (),
        encoding=layout.encoding_name if layout else "",
        delimiter=report.delimiter_name,
        dates=_dates(conventions),
        decimal=_decimal(conventions),
        ignored=layout.unknown if layout else (),
        invoices=summary.invoices,
        lines=summary.lines,
        new_customers=summary.new_customers,
        unnamed=summary.unnamed,
        existing_skipped=report.existing_skipped,
        totals=tuple(formats.amount(minor, code) for code, minor in summary.totals),
        rows=tuple(
            UnderstoodRow(
                number=one.number,
                customer=one.customer,
                issued_on=formats.day(one.issued_on),
                due_on=formats.day(one.due_on),
                amount=formats.amount(one.amount_minor, one.currency),
                lines=one.lines,
            )
            for one in summary.first
        ),
    )
