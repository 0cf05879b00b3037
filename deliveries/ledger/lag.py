"""How far behind a lane is."""

from datetime import datetime, timedelta

from deliveries import kinds
from deliveries.ledger import sql


def lag(lane: str, *, now: datetime | None = None) -> timedelta | None:
    """Return the age of the oldest delivery that waits, queued or retrying; None if none does."""
    row = sql.one(
        f"""
        SELECT {sql.NOW} - min(created_at) AS age FROM ONLY deliveries_delivery
        WHERE status IN ('queued', 'retrying') AND lane = %(lane)s
        """,
        {"lane": lane, "now": now},
    )
    age: timedelta | None = row.age
    return age


def ready(lane: str) -> bool:
    """Tell whether a delivery could be claimed, were there room: none paused, some queued.

    Asked in the order of the claim, since a bare EXISTS may read every old row to find a ready one.
    """
    row = sql.one(
        f"""
        SELECT 1 AS found FROM deliveries_lane
        WHERE name = %(lane)s AND (paused_until IS NULL OR paused_until <= {sql.NOW})
          AND (
            SELECT id FROM ONLY deliveries_delivery
            WHERE status = 'queued' AND lane = %(lane)s AND kind = ANY(%(kinds)s)
            ORDER BY fair_tag, id LIMIT 1
          ) IS NOT NULL
        """,
        {"lane": lane, "kinds": kinds.known(lane), "now": None},
    )
    return row is not None
