"""Forgetting provider events that are long over: what they came to stays, they themselves go.

The delivery keeps what was reported, its timeline each step, the mailbox when it last refused. An
event that comes again after it was forgotten finds all that and changes nothing.
"""

import logging
from collections.abc import Generator
from datetime import datetime, timedelta

from deliveries.ledger import sql

logger = logging.getLogger(__name__)

REPORTS_AT_ONCE = 1_000
# A provider repeats an event for about a day, under the id by which we know it again.
SHORTEST = timedelta(days=2)


def forget_reports(
    *, older_than: timedelta, at_once: int = REPORTS_AT_ONCE, now: datetime | None = None
) -> Generator[int, None, None]:
    """Delete provider events received before that; a transaction each few.

    Yields how many so far. What names a delivery that a person must still judge stays, however old:
    it may tell whether the customer has it. Raise `ValueError` for less than `SHORTEST`.
    """
    if older_than < SHORTEST:
        raise ValueError("Events are repeated for about a day: keep them for two.")
    after = count = 0
    order: dict[str, object] = {"older_than": older_than, "now": now, "at_once": at_once}
    while (page := sql.one(_PAGE, order | {"after": after})).until is not None:
        count += sql.run(_FORGET, order | {"after": after, "until": page.until})
        yield count
        if not page.has_old:
            break
        after = page.until
    if count:
        logger.info("provider events forgotten", extra={"count": count})


def count_forgettable(*, older_than: timedelta, now: datetime | None = None) -> int:
    """Return how many events `forget_reports` would delete."""
    found = sql.one(
        f"SELECT count(*) AS rows FROM deliveries_providerevent event WHERE {_OLD} AND {_IS_OVER}",
        {"older_than": older_than, "now": now},
    )
    return int(found.rows)


_OLD = f"event.received_at < {sql.NOW} - %(older_than)s"

_IS_OVER = """
    (event.delivery_id IS NULL OR EXISTS (
        SELECT 1 FROM deliveries_delivery d
        WHERE d.id = event.delivery_id AND d.status IN ('sent', 'cancelled')
    ))
"""

# Ids are given in the order of time, but for transactions that overlap: behind a page on which
# nothing is old there is nothing that is.
_PAGE = f"""
    SELECT max(id) AS until, bool_or(received_at < {sql.NOW} - %(older_than)s) AS has_old FROM (
        SELECT id, received_at FROM deliveries_providerevent
        WHERE id > %(after)s ORDER BY id LIMIT %(at_once)s
    ) page
"""

# A row that somebody is following at this moment is left for the next run.
_FORGET = f"""
    DELETE FROM deliveries_providerevent WHERE id IN (
        SELECT event.id FROM deliveries_providerevent event
        WHERE event.id > %(after)s AND event.id <= %(until)s AND {_OLD} AND {_IS_OVER}
        ORDER BY event.id FOR UPDATE OF event SKIP LOCKED
    )
"""
