"""Moving what is long over out of the way, and dropping old messages' contents.

The live tables stay as large as the last months; see migration 0009 for why every page still
reads both. Nothing here calls for a lock that somebody waits for: rows in use are left for the
next run.
"""

import logging
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from deliveries.errors import LedgerBroken
from deliveries.ledger import sql

logger = logging.getLogger(__name__)

# Rows looked at in one transaction.
AT_ONCE = 500
# Bodies and PDFs are rewritten by hundreds of kilobytes each.
CONTENTS_AT_ONCE = 200
# `requesting._exists` relies on it: whoever has not seen a row has begun less than a day ago.
YOUNGEST = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Archived:
    """What a run has moved so far."""

    deliveries: int
    events: int


def archive(
    *, older_than: timedelta, at_once: int = AT_ONCE, now: datetime | None = None
) -> Generator[Archived, None, None]:
    """Move deliveries that were over before that, with their timelines; a transaction each few.

    Stop it anywhere: what was moved stays moved, and the next run does the rest. Two at a time
    share the work. Raise `ValueError` for less than `YOUNGEST`.
    """
    if older_than < YOUNGEST:
        raise ValueError("What was over less than a day ago is not archived.")
    order: dict[str, object] = {"older_than": older_than, "now": now, "at_once": at_once}
    after = deliveries = events = 0
    while (page := sql.one(_PAGE, order | {"after": after})).until is not None:
        moved = _archive_some(order | {"after": after, "until": page.until})
        deliveries += moved.deliveries
        events += moved.events
        yield Archived(deliveries=deliveries, events=events)
        if not page.has_old:
            break
        after = page.until
    if deliveries:
        logger.info("deliveries archived", extra={"count": deliveries, "events": events})


def count_archivable(*, older_than: timedelta, now: datetime | None = None) -> int:
    """Return how many deliveries `archive` would move; reads the whole live table."""
    parameters = {"older_than": older_than, "now": now}
    found = sql.one(
        f"SELECT count(*) AS rows FROM ONLY deliveries_delivery d WHERE {_DUE}", parameters
    )
    return int(found.rows)


# Over, for so long, and nobody who still works on it. Dead letters wait for a person, however
# long; and while an invoice has one of those, or an e-mail under way, its story stays together:
# whoever acts on it locks its last delivery, which must not move away meanwhile.
_DUE = f"""
    d.status IN ('sent', 'cancelled') AND d.finished_at < {sql.NOW} - %(older_than)s
    AND NOT EXISTS (SELECT 1 FROM deliveries_unfolloweddelivery u WHERE u.delivery_id = d.id)
    AND NOT EXISTS (
        SELECT 1 FROM ONLY deliveries_delivery other
        WHERE other.invoice_id = d.invoice_id AND other.status NOT IN ('sent', 'cancelled')
    )
"""

# Ids are given in the order of time, but for transactions that overlap: behind a page on which
# nothing is old enough there is nothing that is.
_PAGE = f"""
    SELECT max(id) AS until, bool_or(created_at < {sql.NOW} - %(older_than)s) AS has_old FROM (
        SELECT id, created_at FROM ONLY deliveries_delivery
        WHERE id > %(after)s ORDER BY id LIMIT %(at_once)s
    ) page
"""


def _archive_some(page: Mapping[str, object]) -> Archived:
    """Move what is due of one page of ids, in one transaction."""
    with transaction.atomic():
        rows = sql.rows(
            f"""
            SELECT d.id FROM ONLY deliveries_delivery d
            WHERE d.id > %(after)s AND d.id <= %(until)s AND {_DUE}
            ORDER BY d.id FOR UPDATE OF d SKIP LOCKED
            """,
            page,
        )
        ids = [row.id for row in rows]
        if not ids:
            return Archived(deliveries=0, events=0)
        copied = [sql.run(statement, {"ids": ids}) for statement in _COPY]
        removed = [sql.run(statement, {"ids": ids}) for statement in _REMOVE]
        if copied[0] != len(ids) or copied[::-1] != removed:
            raise LedgerBroken(f"Of {ids}: copied {copied}, removed {removed}. Nothing was moved.")
    return Archived(deliveries=copied[0], events=copied[1])


# All columns, whichever migrations have added: the archive's are the parent's, in its order.
_COPY = (
    """
    INSERT INTO deliveries_archiveddelivery
    SELECT d.* FROM ONLY deliveries_delivery d WHERE id = ANY(%(ids)s) ORDER BY id
    """,
    """
    INSERT INTO deliveries_archivedevent
    SELECT e.* FROM ONLY deliveries_deliveryevent e WHERE delivery_id = ANY(%(ids)s) ORDER BY id
    """,
)
# FOR UPDATE has kept others from adding to a timeline since it was copied.
_REMOVE = (
    "DELETE FROM ONLY deliveries_deliveryevent WHERE delivery_id = ANY(%(ids)s)",
    "DELETE FROM ONLY deliveries_delivery WHERE id = ANY(%(ids)s)",
)


def drop_contents(
    *, older_than: timedelta, at_once: int = CONTENTS_AT_ONCE, now: datetime | None = None
) -> Generator[int, None, None]:
    """Drop text, HTML and attachments of messages stored before that; a transaction each few.

    Yields how many so far. Who got it, when and under which subject stays. A message that may go
    out again, or that a person must still judge, is kept whole, however old.
    """
    after = count = 0
    order: dict[str, object] = {"older_than": older_than, "now": now, "at_once": at_once}
    while (page := sql.one(_STORED, order | {"after": after})).until is not None:
        count += sql.run(_DROP, order | {"after": after, "until": page.until})
        yield count
        if not page.has_old:
            break
        after = page.until
    if count:
        logger.info("contents of messages dropped", extra={"count": count})


def count_droppable(*, older_than: timedelta, now: datetime | None = None) -> int:
    """Return how many messages `drop_contents` would empty."""
    found = sql.one(
        f"SELECT count(*) AS rows FROM deliveries_message m WHERE {_OLD} AND {_IS_OVER}",
        {"older_than": older_than, "now": now},
    )
    return int(found.rows)


_OLD = f"m.content_dropped_at IS NULL AND m.created_at < {sql.NOW} - %(older_than)s"

_IS_OVER = """
    EXISTS (
        SELECT 1 FROM deliveries_delivery d
        WHERE d.id = m.delivery_id AND d.status IN ('sent', 'cancelled')
    )
"""

_STORED = f"""
    SELECT max(id) AS until, bool_or(created_at < {sql.NOW} - %(older_than)s) AS has_old FROM (
        SELECT id, created_at FROM deliveries_message
        WHERE id > %(after)s AND content_dropped_at IS NULL ORDER BY id LIMIT %(at_once)s
    ) page
"""

_DROP = f"""
    UPDATE deliveries_message m
    SET text = '', html = '', attachments = '[]', content_dropped_at = {sql.NOW}
    WHERE m.id > %(after)s AND m.id <= %(until)s AND {_OLD} AND {_IS_OVER}
"""
