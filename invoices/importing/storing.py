"""Making customers, invoices and lines of what is staged and checked: all of it, or nothing."""

from django.db import connection

from invoices.models import Invoice


class ChangedMeanwhile(Exception):
    """Customers changed while the file was stored; nothing is."""


def lock_imports(organization_id: int) -> None:
    """Let an organization's imports come one after another, until this transaction ends.

    Not a lock of the organization's row, which other people's changes would wait for.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('invoices.importing', %s))",
            [organization_id],
        )


def store(organization_id: int) -> int:
    """Insert what is staged, in the caller's transaction; return how many invoices it made.

    Their `imported_at` is the moment at which that transaction began.

    A number that somebody else used meanwhile raises the IntegrityError of
    `invoice_number_once_per_organization`, and the caller's transaction takes everything back.
    """
    names: dict[str, int | str] = {
        "organization_id": organization_id,
        "draft": Invoice.Status.DRAFT.value,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CUSTOMERS, names)
        cursor.execute(_INVOICES, names)
        count: int = cursor.rowcount
        cursor.execute("SELECT count(*) FROM pg_temp.import_invoice")
        if count != cursor.fetchone()[0]:
            # A customer whom these lines mean was removed between two of the statements.
            raise ChangedMeanwhile
        cursor.execute(_LINES, names)
    return count


# Customers are told apart by their address, whatever its case; the first line names a new one.
_CUSTOMERS = """
    INSERT INTO invoices_customer
        (organization_id, name, email, address, tax_id, language, reminders_paused)
    SELECT %(organization_id)s, name, email, address, tax_id, '', false
    FROM (
        SELECT DISTINCT ON (lower(email)) line, name, email, address, tax_id
        FROM pg_temp.import_line ORDER BY lower(email), line
    ) wanted
    WHERE NOT EXISTS (
        SELECT FROM invoices_customer known
        WHERE known.organization_id = %(organization_id)s
          AND lower(known.email) = lower(wanted.email) AND known.removed_at IS NULL
    )
    ORDER BY line
"""

# Of several customers with one address, the one that was first.
_INVOICES = """
    INSERT INTO invoices_invoice
        (organization_id, customer_id, number, status, currency, amount_minor, issued_on, due_on,
         payment_terms, notes, failure_reason, reminders_paused, imported_at)
    SELECT %(organization_id)s, customer.id, line.number, %(draft)s, line.currency,
           invoice.gross::bigint, line.issued_on, line.due_on, line.payment_terms, line.notes,
           '', false, transaction_timestamp()
    FROM pg_temp.import_invoice invoice
    JOIN pg_temp.import_line line ON line.number = invoice.number AND line.line = invoice.line
    JOIN (
        SELECT lower(email) AS email, min(id) AS id FROM invoices_customer
        WHERE organization_id = %(organization_id)s AND removed_at IS NULL
        GROUP BY lower(email)
    ) customer ON customer.email = lower(line.email)
    ORDER BY invoice.line
"""
_LINES = """
    INSERT INTO invoices_invoiceline
        (invoice_id, position, description, quantity, unit_price_minor, tax_rate, second_tax_rate)
    SELECT invoice.id, row_number() OVER (PARTITION BY line.number ORDER BY line.line),
           line.description, line.quantity, line.unit_price_minor, line.tax_rate,
           line.second_tax_rate
    FROM pg_temp.import_line line
    JOIN invoices_invoice invoice
      ON invoice.organization_id = %(organization_id)s AND invoice.number = line.number
    ORDER BY line.line
"""
