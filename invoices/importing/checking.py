"""What can only be told by looking at all of a file's lines, and at what is there already."""

from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from invoices.importing.problems import SHOWN, Problem, Problems, shown
from invoices.importing.values import MOST_MINOR

# What all lines of one invoice must agree in, and the column of a file that says it.
_AGREED = {
    "lower(email)": "customer_email",
    "currency": "currency",
    "issued_on": "issued_on",
    "due_on": "due_on",
}


def drop_existing(organization_id: int) -> int:
    """Take the lines of invoices that exist already out; return how many invoices these were."""
    rows = _rows(_DROP_EXISTING, {"organization_id": organization_id})
    return int(rows[0][0])


def tell_existing(organization_id: int, problems: Problems) -> None:
    sentence = _("This invoice exists already.")
    _tell(_EXISTING, {"organization_id": organization_id}, problems, "number", sentence)


def tell_disagreements(problems: Problems, *, several_lines: bool) -> None:
    """Find lines of one number that do not make one invoice.

    `several_lines` says whether a file can have them at all: one without unit prices has one
    line for each invoice.
    """
    if not several_lines:
        _tell(_DOUBLED, {}, problems, "number", _("This number stands in line %(other)s already."))
        return
    for expression, column in _AGREED.items():
        sentence = _("Line %(other)s of the same invoice says otherwise.")
        _tell(_DISAGREEING.format(expression=expression), {}, problems, column, sentence)


def tell_repetitions(problems: Problems, *, several_lines: bool) -> None:
    """Find lines of one invoice that say the same; what they cost must have been read."""
    if not several_lines:
        return
    sentence = _("This repeats line %(other)s word for word: raise its quantity instead.")
    _tell(_REPEATED, {}, problems, "number", sentence)


def tell_totals(problems: Problems) -> None:
    """Find invoices that come to nothing, to too much, or to something else than they say."""
    with connection.cursor() as cursor:
        cursor.execute(_TOTALS)
        cursor.execute("CREATE INDEX ON pg_temp.import_invoice (number)")
        cursor.execute("ANALYZE pg_temp.import_invoice")
    names = {"most": MOST_MINOR}
    column = "amount"
    _tell(_NOTHING_OWED, names, problems, column, _("The invoice must come to more than zero."))
    _tell(_TOO_MUCH, names, problems, column, _("This amount is too large."))
    sentence = _("The lines come to %(other)s in minor units, which is not this amount.")
    _tell(_MISCLAIMED, names, problems, column, sentence)


def _tell(sql: str, names: dict[str, Any], problems: Problems, column: str, sentence: str) -> None:
    """Add the problems that a query finds: line, value, and what the sentence may name."""
    found = _rows(
        f"SELECT *, count(*) OVER () FROM ({sql}) found ORDER BY line LIMIT {SHOWN}", names
    )
    for line, value, other, _count in found:
        text = sentence % {"other": other} if "%(" in sentence else sentence
        problems.add(Problem(line=line, column=column, value=shown(str(value)), sentence=text))
    if found:
        problems.count_only(column, found[0][3] - len(found))


def _rows(sql: str, names: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, names)
        return list(cursor.fetchall())


_DROP_EXISTING = """
    WITH dropped AS (
        DELETE FROM pg_temp.import_line l USING invoices_invoice i
        WHERE i.organization_id = %(organization_id)s AND i.number = l.number
        RETURNING l.number
    )
    SELECT count(DISTINCT number) FROM dropped
"""
_EXISTING = """
    SELECT min(l.line) AS line, l.number, NULL
    FROM pg_temp.import_line l
    JOIN invoices_invoice i ON i.organization_id = %(organization_id)s AND i.number = l.number
    GROUP BY l.number
"""
_DOUBLED = """
    SELECT line, number, first FROM (
        SELECT line, number, min(line) OVER (PARTITION BY number) AS first
        FROM pg_temp.import_line
    ) l WHERE line > first
"""
_DISAGREEING = """
    SELECT line, value, first FROM (
        SELECT line, {expression} AS value,
               first_value(line) OVER invoice AS first,
               first_value({expression}) OVER invoice AS agreed
        FROM pg_temp.import_line
        WINDOW invoice AS (PARTITION BY number ORDER BY line)
    ) l WHERE value <> agreed
"""
_REPEATED = """
    SELECT line, number, first FROM (
        SELECT line, number, min(line) OVER (
            PARTITION BY number, description, quantity, unit_price_minor, tax_rate,
                         second_tax_rate
        ) AS first
        FROM pg_temp.import_line
    ) l WHERE line > first
"""

# Rounded as invoices.money does: half away from zero, once per line and once per rate of tax. A
# line with a second tax is in the bases of both rates, and once in the net.
_TOTALS = """
    CREATE TEMPORARY TABLE import_invoice AS
    WITH taxed AS (
        SELECT number, tax_rate AS rate, line, amount_minor, quantity, unit_price_minor, 1 AS once
        FROM pg_temp.import_line
        UNION ALL
        SELECT number, second_tax_rate, line, amount_minor, quantity, unit_price_minor, 0
        FROM pg_temp.import_line WHERE second_tax_rate > 0
    ), net AS (
        SELECT number, rate, min(line) AS line, min(amount_minor) AS least,
               max(amount_minor) AS claimed, sum(round(quantity * unit_price_minor)) AS base,
               sum(once * round(quantity * unit_price_minor)) AS net,
               count(*) FILTER (WHERE unit_price_minor IS NULL) AS unknown
        FROM taxed GROUP BY number, rate
    )
    SELECT number, min(line) AS line, min(least) AS least, max(claimed) AS claimed,
           CASE WHEN sum(unknown) = 0
                THEN sum(net) + sum(round(base * rate * 0.01)) END AS gross
    FROM net GROUP BY number
"""
_NOTHING_OWED = "SELECT line, gross, NULL FROM pg_temp.import_invoice WHERE gross <= 0"
_TOO_MUCH = "SELECT line, gross, NULL FROM pg_temp.import_invoice WHERE gross > %(most)s"
_MISCLAIMED = """
    SELECT line, CASE WHEN least <> gross THEN least ELSE claimed END, gross
    FROM pg_temp.import_invoice WHERE least <> gross OR claimed <> gross
"""
