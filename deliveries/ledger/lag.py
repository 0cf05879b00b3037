"""How far behind a lane is, and how long what was sent had waited."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from deliveries import kinds
from deliveries.ledger import sql
from deliveries.ledger.claiming import Claim


def lag(lane: str, *, now: datetime | None = None) -> timedelta | None:
    """Return how long the oldest that waits, queued or retrying, does so; None if none does.

    A delivery waits since it was requested, or since a person last put it back.
    """
    row = sql.one(
        f"""
        SELECT {sql.NOW} - min(waiting_since) AS age FROM ONLY deliveries_delivery
        WHERE status IN ('queued', 'retrying') AND lane = %(lane)s
        """,
        {"lane": lane, "now": now},
    )
    age: timedelta | None = row.age
    return age


def seconds_to_send(claims: Sequence[Claim]) -> dict[tuple[int, int], float]:
    """Return, by id and token, how long those sent under these claims had waited; one query.

    Since the last click, on Send or on Replay, by the database's clock.
    """
    if not claims:
        return {}
    found = sql.rows(
        """
        SELECT id, lease_token, extract(epoch FROM sent_at - waiting_since)::float8 AS seconds
        FROM ONLY deliveries_delivery
        JOIN unnest(%(ids)s::bigint[], %(tokens)s::bigint[]) AS claim (id, lease_token)
            USING (id, lease_token)
        WHERE status = 'sent'
        """,
        {
            "ids": [claim.delivery_id for claim in claims],
            "tokens": [claim.token for claim in claims],
        },
    )
    return {(row.id, row.lease_token): row.seconds for row in found}


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
