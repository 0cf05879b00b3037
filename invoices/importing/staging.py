"""The lines of a file in a temporary table of this connection, where SQL can compare them."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice

from django.conf import settings
from django.db import connection, transaction

from invoices.importing.lines import Line

# A COPY is a transaction, which holds up the cleaning of the ledger's tables: none lasts long.
_CHUNK = 20_000


@contextmanager
def table() -> Iterator[None]:
    """Make `import_line` for as long as the block lasts."""
    with _one_connection(), connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS pg_temp.import_line, pg_temp.import_invoice")
        cursor.execute(_TABLE)
        try:
            yield
        finally:
            # Not in a transaction that failed: it takes the table with it.
            if not connection.needs_rollback:
                cursor.execute("DROP TABLE IF EXISTS pg_temp.import_line, pg_temp.import_invoice")


def _one_connection() -> AbstractContextManager[None]:
    """Hold on to PostgreSQL's side of the connection, where the table is.

    A pooler leaves it to us for a transaction at a time, so there it has to be a single one.
    """
    if settings.DATABASE_POOLER == "none":
        return nullcontext()
    return transaction.atomic()


def fill(lines: Iterable[Line]) -> int:
    """Copy the lines in, in bounded memory; return how many there were."""
    count = 0
    iterator = iter(lines)
    while chunk := list(islice(iterator, _CHUNK)):
        with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
            for line in chunk:
                copy.write_row(line)
        count += len(chunk)
    with connection.cursor() as cursor:
        cursor.execute("CREATE INDEX ON pg_temp.import_line (number, line)")
        cursor.execute("ANALYZE pg_temp.import_line")
    return count


_TABLE = """
    CREATE TEMPORARY TABLE import_line (
        line integer NOT NULL,
        number text NOT NULL,
        email text NOT NULL,
        name text NOT NULL,
        address text NOT NULL,
        tax_id text NOT NULL,
        currency text,
        issued_on date,
        due_on date,
        payment_terms text NOT NULL,
        notes text NOT NULL,
        description text NOT NULL,
        quantity numeric NOT NULL,
        unit_price_minor bigint,
        tax_rate numeric NOT NULL,
        second_tax_rate numeric NOT NULL,
        amount_minor bigint
    )
"""
_COPY = f"COPY pg_temp.import_line ({', '.join(Line._fields)}) FROM STDIN"
