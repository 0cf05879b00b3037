"""Taking deliveries out that nobody wants any more."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction

from deliveries import correlation
from deliveries.errors import WrongState
from deliveries.ledger import hooks, sql, timeline
from deliveries.ledger.batches import MISSING, STATE_WORDS, Batch
from deliveries.models import DeliveryEvent

logger = logging.getLogger(__name__)

# Rows and their invoices are locked until the transaction ends, and finance clicks meanwhile.
AT_ONCE = 250


def cancel(
    delivery_id: int, *, actor_id: int | None, why: str, now: datetime | None = None
) -> None:
    """Take one waiting or dead delivery out for good; one transaction. Raise `WrongState`."""
    batch = cancel_many([delivery_id], actor_id=actor_id, why=why, now=now)
    if delivery_id in batch.skipped:
        raise WrongState(f"Not cancelled: {batch.skipped[delivery_id]}.")


def cancel_many(
    delivery_ids: Iterable[int],
    *,
    actor_id: int | None,
    why: str,
    seen_at: datetime | None = None,
    now: datetime | None = None,
) -> Batch:
    """Take waiting or dead deliveries out; a transaction for each few. Running ones are skipped.

    `seen_at` is when the person looked: what somebody has replayed since is skipped.
    """
    ids = sorted(set(delivery_ids))
    with correlation.bound(correlation_id=correlation.current_id()):
        batch = Batch.of(
            _cancel_some(ids[start : start + AT_ONCE], actor_id, why, seen_at, now)
            for start in range(0, len(ids), AT_ONCE)
        )
        if batch.done:
            logger.info("deliveries cancelled", extra={"count": len(batch.done), "actor": actor_id})
    return batch


def _cancel_some(
    ids: Sequence[int],
    actor_id: int | None,
    why: str,
    seen_at: datetime | None,
    now: datetime | None,
) -> Batch:
    with transaction.atomic():
        found = sql.locked(_FOUND, {"ids": list(ids), "seen_at": seen_at})
        able = [row.id for row in found if not row.replayed_since]
        parameters = {"ids": able, "why": sql.storable(why), "now": now, "or_else": _MAY_HAVE_IT}
        cancelled = sql.rows(_CANCEL, parameters)
        correlation_id = correlation.current_id()
        timeline.record(
            [
                timeline.Event(
                    delivery_id=row.id,
                    type=DeliveryEvent.Type.CANCELLED,
                    sentence=row.last_error,
                    actor_id=actor_id,
                    correlation_id=correlation_id,
                )
                for row in sorted(cancelled, key=lambda row: row.id)
            ],
            now=now,
        )
        done = sorted(row.id for row in cancelled)
        hooks.settled(done)
    states = {row.id: _why_not(row) for row in found}
    return Batch(
        done=tuple(done),
        skipped={missed: states.get(missed, MISSING) for missed in set(ids) - set(done)},
    )


def _why_not(row: sql.Row) -> str:
    if row.replayed_since:
        return "replayed since you looked: look at it anew"
    return STATE_WORDS.get(row.status, MISSING)


_MAY_HAVE_IT = " An earlier attempt may have reached the customer."

_FOUND = """
    SELECT id, status, %(seen_at)s::timestamptz IS NOT NULL AND EXISTS (
        SELECT 1 FROM deliveries_deliveryevent event
        WHERE event.delivery_id = d.id AND event.type = 'replayed'
          AND event.at > %(seen_at)s::timestamptz
    ) AS replayed_since
    FROM deliveries_delivery d WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE
"""

_CANCEL = f"""
    UPDATE ONLY deliveries_delivery
    SET status = 'cancelled', finished_at = {sql.NOW}, next_attempt_at = NULL, dead_reason = '',
        last_error = %(why)s
            || CASE WHEN handed_over_at IS NOT NULL THEN %(or_else)s ELSE '' END
    WHERE id = ANY(%(ids)s) AND status IN ('queued', 'retrying', 'dead')
    RETURNING id, last_error
"""
