"""What a check or an import of a file found: said alike by the page and by the command."""

from dataclasses import dataclass
from datetime import date

from django.db import connection

from invoices.importing.conventions import Conventions
from invoices.importing.problems import Problem
from invoices.importing.reading import DELIMITERS, Layout

_FIRST_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Understood:
    """One of the first invoices, as the file was understood: to be compared with it by eye."""

    number: str
    customer: str
    issued_on: date
    due_on: date
    amount_minor: int
    currency: str
    lines: int


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the file comes to once nothing is wrong with it."""

    invoices: int = 0
    lines: int = 0
    new_customers: int = 0
    # Invoices whose customer has no name, in the file or here.
    unnamed: int = 0
    totals: tuple[tuple[str, int], ...] = ()
    first: tuple[Understood, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    layout: Layout | None = None
    conventions: Conventions | None = None
    problems: tuple[Problem, ...] = ()
    problem_count: int = 0
    by_column: tuple[tuple[str, int], ...] = ()
    # What a person must say before more can be told.
    unclear: bool = False
    existing_skipped: int = 0
    summary: Summary = Summary()
    imported: bool = False

    @property
    def delimiter_name(self) -> str:
        return DELIMITERS[self.layout.delimiter] if self.layout else ""


def summarize(organization_id: int) -> Summary:
    """Look at what is staged and checked, before it is stored."""
    names = {"organization_id": organization_id}
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, names)
        invoices, lines, new_customers = cursor.fetchone()
        cursor.execute(_UNNAMED, names)
        [unnamed] = cursor.fetchone()
        cursor.execute(_TOTALS_BY_CURRENCY)
        totals = tuple((code, int(minor)) for code, minor in cursor.fetchall())
        cursor.execute(_FIRST)
        first = tuple(
            Understood(
                number=number,
                customer=customer,
                issued_on=issued_on,
                due_on=due_on,
                amount_minor=int(gross),
                currency=currency,
                lines=count,
            )
            for number, customer, issued_on, due_on, gross, currency, count in cursor.fetchall()
        )
    return Summary(
        invoices=invoices,
        lines=lines,
        new_customers=new_customers,
        unnamed=unnamed,
        totals=totals,
        first=first,
    )


_COUNTS = """
    SELECT (SELECT count(*) FROM pg_temp.import_invoice),
           (SELECT count(*) FROM pg_temp.import_line),
           (SELECT count(*) FROM (SELECT DISTINCT lower(email) AS email
                                  FROM pg_temp.import_line) wanted
            WHERE NOT EXISTS (
                SELECT FROM invoices_customer known
                WHERE known.organization_id = %(organization_id)s
                  AND lower(known.email) = wanted.email AND known.removed_at IS NULL))
"""
# Whose invoice it becomes is said in storing: a known customer first, else the first line.
_UNNAMED = """
    WITH customer AS (
        SELECT DISTINCT ON (lower(email)) lower(email) AS email, name
        FROM (
            SELECT email, name, 0 AS kind, id AS place FROM invoices_customer
            WHERE organization_id = %(organization_id)s AND removed_at IS NULL
            UNION ALL
            SELECT email, name, 1, line FROM pg_temp.import_line
        ) named ORDER BY lower(email), kind, place
    )
    SELECT count(*)
    FROM pg_temp.import_invoice invoice
    JOIN pg_temp.import_line line ON line.number = invoice.number AND line.line = invoice.line
    JOIN customer ON customer.email = lower(line.email)
    WHERE btrim(customer.name) = ''
"""
_TOTALS_BY_CURRENCY = """
    SELECT line.currency, sum(invoice.gross)
    FROM pg_temp.import_invoice invoice
    JOIN pg_temp.import_line line ON line.number = invoice.number AND line.line = invoice.line
    GROUP BY line.currency ORDER BY line.currency
"""
_FIRST = f"""
    SELECT invoice.number, coalesce(nullif(line.name, ''), line.email), line.issued_on,
           line.due_on, invoice.gross, line.currency,
           (SELECT count(*) FROM pg_temp.import_line l WHERE l.number = invoice.number)
    FROM (SELECT * FROM pg_temp.import_invoice ORDER BY line LIMIT {_FIRST_SHOWN}) invoice
    JOIN pg_temp.import_line line ON line.number = invoice.number AND line.line = invoice.line
    ORDER BY invoice.line
"""
