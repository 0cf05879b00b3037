"""Giving up on deliveries that crash their workers."""

import logging
from datetime import datetime

from deliveries import kinds
from deliveries.ledger import hooks, sql, timeline
from deliveries.models import Delivery, DeliveryEvent

logger = logging.getLogger(__name__)


def bury_crashed(lane: str, *, max_claims: int, worker: str, now: datetime | None = None) -> int:
    """Declare dead what took `max_claims` leases in a row with no outcome; joins the caller's.

    Without it, a message that kills its worker would kill the whole fleet for ever.
    """
    buried = sql.rows(
        f"""
        WITH crashed AS MATERIALIZED (
            SELECT id, locked_by AS lost_by FROM ONLY deliveries_delivery
            WHERE status = 'running' AND lane = %(lane)s AND kind = ANY(%(kinds)s)
              AND locked_until <= {sql.NOW} AND claims >= %(max_claims)s
            ORDER BY id LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE ONLY deliveries_delivery d
        SET status = 'dead', dead_reason = 'crashed', finished_at = {sql.NOW},
            last_error = 'crashed ' || d.claims || ' workers',
            locked_by = NULL, locked_until = NULL
        FROM crashed WHERE d.id = crashed.id
        RETURNING d.id, d.claims, d.kind, d.reference, d.correlation_id, crashed.lost_by
        """,
        {"lane": lane, "kinds": kinds.known(lane), "max_claims": max_claims, "now": now},
    )
    for row in buried:
        logger.error(
            "delivery dead",
            extra={
                "correlation_id": row.correlation_id,
                "delivery": row.id,
                "invoice": row.reference,
                "dead_reason": Delivery.DeadReason.CRASHED.value,
                "lost_by": row.lost_by,
            },
        )
    timeline.record(
        [
            timeline.Event(
                delivery_id=row.id,
                type=DeliveryEvent.Type.DIED,
                sentence=f"Given up: it crashed {row.claims} workers, the last one {row.lost_by}.",
                worker=worker,
                correlation_id=row.correlation_id,
                details={"dead_reason": "crashed", "lost_by": row.lost_by},
            )
            for row in buried
        ],
        now=now,
    )
    hooks.settled([row.id for row in buried])
    return len(buried)
