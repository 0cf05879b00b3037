"""Years of history in a few statements: what a ledger looks like after a long time in use."""

from django.db import connection

from invoices.models import Organization

ORGANIZATIONS = 1_000
# An invoice's e-mail and its reminders.
DELIVERIES_OF_AN_INVOICE = 10
DEAD = 20_000
WAITING = 5_000
LAST_DAY = 100_000


def make(deliveries: int) -> None:
    """Make so many sent deliveries with two events each, some dead ones, some that wait.

    One customer for ten invoices, 100,000 sent within the last day, the rest over two years before.
    """
    invoices = deliveries // DELIVERIES_OF_AN_INVOICE
    parameters = {
        "organizations": ORGANIZATIONS,
        "customers": max(1, invoices // 10),
        "invoices": invoices,
        "deliveries": deliveries,
        "each": DELIVERIES_OF_AN_INVOICE,
        "dead": DEAD,
        "waiting": WAITING,
        "last_day": LAST_DAY,
    }
    with connection.cursor() as cursor:
        for statement in _STATEMENTS:
            cursor.execute(statement, parameters)
        cursor.execute("VACUUM ANALYZE")


def forget() -> None:
    """Empty the tables at once: deleting millions of rows takes longer than making them."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE invoices_organization CASCADE")


_STATEMENTS = (
    """
    INSERT INTO invoices_organization
        (id, name, slug, email, address, tax_id, payment_details, language, time_zone,
         reminders_enabled, reminders_after_days)
    SELECT i, 'Company ' || i, 'company-' || i, 'billing@company' || i || '.example', '', '', '',
           'en', 'Africa/Lagos', true, 1
    FROM generate_series(1, %(organizations)s) i
    """,
    """
    INSERT INTO invoices_customer
        (id, organization_id, name, email, address, tax_id, language, reminders_paused)
    SELECT i, 1 + i %% %(organizations)s, 'Customer Number' || i || ' Trading',
           'accounts' || i || '@customer.example', '', '', '', false
    FROM generate_series(1, %(customers)s) i
    """,
    """
    INSERT INTO invoices_invoice
        (id, organization_id, customer_id, number, status, currency, amount_minor, issued_on,
         due_on, payment_terms, notes, failure_reason, reminders_paused)
    SELECT i, 1 + (1 + i %% %(customers)s) %% %(organizations)s, 1 + i %% %(customers)s,
           'H-' || lpad(i::text, 8, '0'), 'sent', 'NGN', 100 + i, current_date - 400,
           current_date - 370, '', '', '', false
    FROM generate_series(1, %(invoices)s) i
    """,
    """
    INSERT INTO deliveries_delivery
        (id, organization_id, invoice_id, kind, lane, reference, dedupe_key, idempotency_key,
         status, claims, attempts, lease_token, fair_tag, correlation_id, provider_message_id,
         last_error, dead_reason, created_at, sent_at, finished_at)
    SELECT i, invoice.organization_id, invoice.id,
           CASE WHEN turn = 0 THEN 'invoice' ELSE 'reminder' END, 'email', invoice.number,
           'history:' || i, 'delivery-history-' || i, 'sent', 0, 1, 1, 0,
           md5(i::text), 'msg-' || md5('m' || i), '', '', at, at, at
    FROM (
        SELECT i, (i - 1) / %(each)s + 1 AS invoice_id, (i - 1) %% %(each)s AS turn,
            CASE WHEN i > %(deliveries)s - %(last_day)s
            THEN now() - interval '23 hours' * (%(deliveries)s - i) / %(last_day)s
            ELSE now() - interval '24 hours'
                 - interval '2 years' * (%(deliveries)s - %(last_day)s - i) / %(deliveries)s
            END AS at
        FROM generate_series(1, %(deliveries)s) i
    ) one JOIN invoices_invoice invoice ON invoice.id = one.invoice_id
    ORDER BY i
    """,
    """
    INSERT INTO deliveries_deliveryevent
        (delivery_id, at, type, attempt, worker, correlation_id, sentence, details)
    SELECT id, created_at, type, 1, 'worker-1', correlation_id, 'As it was.', '{}'
    FROM deliveries_delivery, unnest(ARRAY['requested', 'sent']) type ORDER BY id
    """,
    """
    INSERT INTO deliveries_delivery
        (id, organization_id, invoice_id, kind, lane, reference, dedupe_key, idempotency_key,
         status, claims, attempts, lease_token, fair_tag, correlation_id, provider_message_id,
         last_error, dead_reason, created_at, finished_at)
    SELECT %(deliveries)s + i, invoice.organization_id, invoice.id, 'reminder', 'email',
           invoice.number, 'dead:' || i, 'delivery-dead-' || i, 'dead', 0, 1, 1, 0, md5('d' || i),
           '', 'no such address', 'rejected', now(), now() - interval '1 second' * i
    FROM generate_series(1, least(%(dead)s, %(invoices)s)) i
    JOIN invoices_invoice invoice ON invoice.id = i
    """,
    """
    INSERT INTO deliveries_delivery
        (id, organization_id, invoice_id, kind, lane, reference, dedupe_key, idempotency_key,
         status, claims, attempts, lease_token, fair_tag, correlation_id, provider_message_id,
         last_error, dead_reason, created_at)
    SELECT %(deliveries)s + %(dead)s + i, invoice.organization_id, invoice.id, 'reminder', 'email',
           invoice.number, 'waiting:' || i, 'delivery-waiting-' || i, 'queued', 0, 0, 0, i,
           md5('w' || i), '', '', '', now()
    FROM generate_series(1, least(%(waiting)s, %(invoices)s)) i
    JOIN invoices_invoice invoice ON invoice.id = i
    """,
)


def make_list(invoices: int) -> Organization:
    """Make one organization with so many invoices, an e-mail behind each, ten for a customer.

    Beside it stand a hundred others with a thousandth of that each, whose numbers begin alike.
    Most are paid; the newest are drafts, on their way, or not due yet.
    """
    parameters = {"invoices": invoices, "customers": max(1, invoices // 10)}
    with connection.cursor() as cursor:
        for statement in _LIST:
            cursor.execute(statement, parameters)
        cursor.execute("VACUUM ANALYZE")
    return Organization.objects.get(pk=1)


_LIST = (
    """
    INSERT INTO invoices_organization
        (id, name, slug, email, address, tax_id, payment_details, language, time_zone,
         reminders_enabled, reminders_after_days)
    SELECT i, 'Company ' || i, 'company-' || i, 'billing@company' || i || '.example', '', '', '',
           'en', 'Africa/Lagos', true, 1
    FROM generate_series(1, 101) i
    """,
    """
    INSERT INTO invoices_customer
        (id, organization_id, name, email, address, tax_id, language, reminders_paused)
    SELECT i, CASE WHEN i <= %(customers)s THEN 1 ELSE 2 + i %% 100 END,
           'Customer Number' || i || CASE WHEN i %% 3 = 0 THEN ' Trading' ELSE ' Bakery' END,
           'accounts' || i || '@customer.example', '', '', '', false
    FROM generate_series(1, %(customers)s * 11 / 10) i
    """,
    """
    INSERT INTO invoices_invoice
        (id, organization_id, customer_id, number, status, currency, amount_minor, issued_on,
         due_on, payment_terms, notes, failure_reason, reminders_paused)
    SELECT i, customer.organization_id, customer.id, 'INV-' || lpad(i::text, 8, '0'), state.status,
           CASE WHEN i %% 50 = 0 THEN 'EUR' ELSE 'NGN' END, 100 + i::bigint * 7919 %% 1000003,
           current_date - age.days, current_date - age.days + 30, '', '',
           CASE WHEN state.status = 'failed' THEN 'no such address' ELSE '' END, false
    FROM generate_series(1, %(invoices)s * 11 / 10) i
    JOIN invoices_customer customer ON customer.id = 1 + (i - 1) %% (%(customers)s * 11 / 10)
    CROSS JOIN LATERAL (
        SELECT ((%(invoices)s * 11 / 10 - i)::bigint * 1000 / %(invoices)s)::int AS days
    ) age
    CROSS JOIN LATERAL (
        SELECT CASE WHEN i %% 200 = 7 THEN 'failed'
                    WHEN i %% 100 = 9 THEN 'void'
                    WHEN age.days < 20 THEN 'draft'
                    WHEN age.days < 30 THEN 'sending'
                    WHEN age.days < 120 OR i %% 4 = 0 THEN 'sent'
                    ELSE 'paid' END AS status
    ) state
    """,
    """
    INSERT INTO deliveries_delivery
        (id, organization_id, invoice_id, kind, lane, reference, dedupe_key, idempotency_key,
         status, claims, attempts, lease_token, fair_tag, correlation_id, provider_message_id,
         last_error, dead_reason, created_at, next_attempt_at, sent_at, finished_at)
    SELECT i, invoice.organization_id, invoice.id, 'invoice', 'email', invoice.number,
           'history:' || i, 'delivery-history-' || i, state.status, 0, 1, 1, i,
           md5(i::text), CASE WHEN state.status = 'sent' THEN 'msg-' || i ELSE '' END,
           CASE WHEN state.status IN ('dead', 'retrying') THEN 'no such address' ELSE '' END,
           CASE WHEN state.status = 'dead' THEN 'rejected' ELSE '' END, now(),
           CASE WHEN state.status = 'retrying' THEN now() + interval '1 hour' END,
           CASE WHEN state.status = 'sent' THEN now() END,
           CASE WHEN state.status IN ('sent', 'dead') THEN now() END
    FROM invoices_invoice invoice
    CROSS JOIN LATERAL (SELECT invoice.id AS i) one
    CROSS JOIN LATERAL (
        SELECT CASE WHEN invoice.status = 'sending' AND i %% 10 = 0 THEN 'retrying'
                    WHEN invoice.status = 'sending' THEN 'queued'
                    WHEN invoice.status = 'failed' THEN 'dead'
                    ELSE 'sent' END AS status
    ) state
    WHERE invoice.status <> 'draft'
    """,
)
