"""Taking deliveries out that nobody wants any more."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from deliveries import correlation
from deliveries.errors import WrongState
from deliveries.ledger import hooks, sql, timeline
from deliveries.ledger.batches import MISSING, STATE_WORDS, Batch
from deliveries.models import DeliveryEvent


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
    now: datetime | None = None,
) -> Batch:
    """Take waiting or dead deliveries out for good; one transaction. Running ones are skipped."""
    ids = sorted(set(delivery_ids))
    with transaction.atomic():
        found = sql.rows(
            "SELECT id, status FROM deliveries_delivery WHERE id = ANY(%(ids)s) "
            "ORDER BY id FOR NO KEY UPDATE",
            {"ids": ids},
        )
        cancelled = sql.rows(
            f"""
            UPDATE deliveries_delivery
            SET status = 'cancelled', finished_at = {sql.NOW}, next_attempt_at = NULL,
                dead_reason = '', last_error = %(why)s
            WHERE id = ANY(%(ids)s) AND status IN ('queued', 'retrying', 'dead')
            RETURNING id
            """,
            {"ids": ids, "why": sql.storable(why), "now": now},
        )
        done = sorted(row.id for row in cancelled)
        correlation_id = correlation.current_id()
        timeline.record(
            [
                timeline.Event(
                    delivery_id=delivery_id,
                    type=DeliveryEvent.Type.CANCELLED,
                    sentence=why,
                    actor_id=actor_id,
                    correlation_id=correlation_id,
                )
                for delivery_id in done
            ],
            now=now,
        )
        hooks.settled(done)
    states = {row.id: STATE_WORDS.get(row.status, MISSING) for row in found}
    return Batch(
        done=tuple(done),
        skipped={missed: states.get(missed, MISSING) for missed in set(ids) - set(done)},
    )
