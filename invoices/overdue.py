"""Which unpaid invoices are overdue on a day, and get a reminder.

Read in SQL, for there may be millions; the rules are explained in docs/reminders.md.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.db import connection

from invoices import mailboxes
from invoices.addresses import recipients
from invoices.calendar import is_run_day, run_of
from invoices.models import Organization
from invoices.validation import is_known_zone

logger = logging.getLogger(__name__)

BATCH = 10_000
LOOKED_AT = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """An invoice that gets a reminder on some day."""

    invoice_id: int
    organization_id: int
    number: str
    due_on: date
    organization: str
    customer: str
    # The columns that say who gets its e-mails.
    to: list[str] = field(repr=False)
    cc: list[str] = field(repr=False)
    email: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class DuePage:
    """Some of the invoices that are due: those that get a reminder, and those that nobody takes."""

    due: list[Due]
    # Every recipient's mailbox refuses e-mail.
    refused: list[Due]


def due_pages(day: date, *, batch: int = BATCH) -> Iterator[DuePage]:
    """Yield the invoices that are due a reminder on that day, oldest debt first, in pages.

    Two queries for each page: the second asks for all its recipients' mailboxes.
    """
    if not is_run_day(day):
        return
    parameters = _of(day, _unknown_zones()) | {
        "after_due_on": date.min,
        "after_id": 0,
        "batch": batch,
    }
    while candidates := _candidates(parameters):
        yield _parted([due for due, is_due in candidates if is_due])
        last, _ = candidates[-1]
        parameters |= {"after_due_on": last.due_on, "after_id": last.invoice_id}


# An invoice is overdue by its organization's calendar, which is at most a day away from UTC's.
_IS_DUE = """
    i.due_on <= local.today - o.reminders_after_days
    AND (i.sent_at AT TIME ZONE zone.name)::date < local.today
    AND o.reminders_enabled AND o.closed_at IS NULL
    AND NOT i.reminders_paused
    AND NOT c.reminders_paused AND c.removed_at IS NULL
    AND (o.reminder_limit IS NULL OR o.reminder_limit > (
        SELECT count(*) FROM deliveries_delivery d
        WHERE d.invoice_id = i.id AND d.kind = 'reminder' AND d.status <> 'cancelled'
          AND d.dedupe_key <> 'reminder:' || i.id || ':' || %(day)s
    ))
"""

_AROUND = """
    JOIN invoices_organization o ON o.id = i.organization_id
    JOIN invoices_customer c ON c.id = i.customer_id
    CROSS JOIN LATERAL (
        -- One organization's impossible zone must not end the run of all others.
        SELECT CASE WHEN o.time_zone = ANY(%(unknown_zones)s) THEN 'UTC'
               ELSE o.time_zone END AS name
    ) zone
    CROSS JOIN LATERAL (SELECT (%(run)s::timestamptz AT TIME ZONE zone.name)::date AS today) local
"""

# A page of candidates is read off the index invoice_overdue, from the end of the last page on, and
# only then looked at closely. In one step the planner sorted all that was left for every page.
_PAGE = f"""
    WITH i AS MATERIALIZED (
        SELECT * FROM invoices_invoice
        WHERE status = 'sent' AND due_on <= %(day)s::date + 1
          AND (due_on, id) > (%(after_due_on)s::date, %(after_id)s::bigint)
        ORDER BY due_on, id LIMIT %(batch)s
    )
    SELECT i.id AS invoice_id, i.organization_id, i.number, i.due_on, o.name AS organization,
           c.name AS customer, i."to", i.cc, c.email, coalesce({_IS_DUE}, false) AS is_due
    FROM i {_AROUND}
    ORDER BY i.due_on, i.id
"""

_COUNT = f"""
    SELECT count(*) FROM invoices_invoice i {_AROUND}
    WHERE i.status = 'sent' AND i.due_on <= %(day)s::date + 1 AND {_IS_DUE}
"""


def count_due(day: date) -> int:
    """Return how many invoices are due a reminder on that day, refused ones among them."""
    if not is_run_day(day):
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, _of(day, _unknown_zones()))
        return int(cursor.fetchone()[0])


# An organization whose old debts have all had their last reminder may have many of them: what
# became overdue last is looked at first, and not all.
_OF_ONE_ORGANIZATION = f"""
    WITH i AS MATERIALIZED (
        SELECT * FROM invoices_invoice
        WHERE organization_id = %(organization_id)s
          AND status = 'sent' AND due_on <= %(day)s::date + 1
        ORDER BY due_on DESC, id DESC LIMIT %(candidates)s
    )
    SELECT i.id AS invoice_id, i.organization_id, i.number, i.due_on, o.name AS organization,
           c.name AS customer, i."to", i.cc, c.email, coalesce({_IS_DUE}, false) AS is_due
    FROM i {_AROUND}
    ORDER BY i.due_on DESC, i.id DESC
"""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """Who would get a reminder; not complete where only the latest debts were looked at."""

    invoice_ids: list[int]
    complete: bool


def preview(organization: Organization, day: date) -> Preview:
    """Return who of one organization would get a reminder on that day, latest debt first."""
    if not is_run_day(day):
        return Preview(invoice_ids=[], complete=True)
    zone = organization.time_zone
    # Asking PostgreSQL for the zones it knows takes longer than all the rest of a page.
    parameters = _of(day, [] if is_known_zone(zone) else [zone]) | {
        "organization_id": organization.pk,
        "candidates": LOOKED_AT,
    }
    candidates = _candidates(parameters, _OF_ONE_ORGANIZATION)
    page = _parted([due for due, is_due in candidates if is_due])
    return Preview(
        invoice_ids=[due.invoice_id for due in page.due],
        complete=len(candidates) < LOOKED_AT,
    )


def _parted(due: list[Due]) -> DuePage:
    """Part those that somebody takes from those that come back from everybody; one query."""
    keys = [_mailboxes(one) for one in due]
    known = mailboxes.find(key for some in keys for key in some)
    if not known:
        return DuePage(due=due, refused=[])
    page = DuePage(due=[], refused=[])
    for one, its in zip(due, keys, strict=True):
        # Without any address it is recorded all the same: its delivery then says what is missing.
        refused = bool(its) and all(key in known for key in its)
        (page.refused if refused else page.due).append(one)
    return page


def _mailboxes(due: Due) -> Sequence[mailboxes.Key]:
    return [
        mailboxes.key(due.organization_id, address)
        for address in recipients(due.to, due.cc, due.email).all
    ]


def _candidates(parameters: dict[str, Any], statement: str = _PAGE) -> list[tuple[Due, bool]]:
    """Return the next unpaid invoices, each with whether it is due a reminder on that day."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        names = [column.name for column in cursor.description or ()][:-1]
        return [
            (Due(**dict(zip(names, row[:-1], strict=True))), row[-1]) for row in cursor.fetchall()
        ]


def _of(day: date, unknown_zones: list[str]) -> dict[str, Any]:
    """Return the parameters that every statement here has."""
    return {"run": run_of(day), "day": day.isoformat(), "unknown_zones": unknown_zones}


def _unknown_zones() -> list[str]:
    """Return the organizations' time zones that PostgreSQL does not know; those count as UTC."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT time_zone FROM invoices_organization
            WHERE time_zone NOT IN (SELECT name FROM pg_timezone_names)
            """
        )
        unknown = [row[0] for row in cursor.fetchall()]
    if unknown:
        logger.error("organizations have unknown time zones", extra={"time_zones": unknown})
    return unknown
