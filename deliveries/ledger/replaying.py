"""A person puts dead letters back, or takes deliveries out."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from django.db import transaction

from deliveries import correlation, kinds
from deliveries.errors import ConfirmationNeeded, UnknownKind, WrongState
from deliveries.ledger import fairness, hooks, lanes, sql, timeline
from deliveries.ledger.requesting import CHANNEL, new_idempotency_key
from deliveries.models import Delivery, DeliveryEvent

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What became of many: ids done, and the reason for each that was skipped."""

    done: tuple[int, ...]
    skipped: dict[int, str]


def replay(
    delivery_id: int,
    *,
    actor_id: int,
    reason: str,
    key_lifetime: timedelta,
    confirmed: bool = False,
    now: datetime | None = None,
) -> None:
    """Put one dead letter back; one transaction.

    Raise `WrongState` if it is not dead, `ConfirmationNeeded` if the customer may have it already
    and the provider can no longer tell.
    """
    batch = replay_many(
        [delivery_id],
        actor_id=actor_id,
        reason=reason,
        key_lifetime=key_lifetime,
        confirmed=confirmed,
        now=now,
    )
    if delivery_id in batch.skipped:
        error = ConfirmationNeeded if batch.skipped[delivery_id] == _UNCONFIRMED else WrongState
        raise error(f"Not replayed: {batch.skipped[delivery_id]}.")


_MISSING = "it does not exist"
_UNCONFIRMED = "the customer may have it already, which must be confirmed"


def replay_many(
    delivery_ids: Iterable[int],
    *,
    actor_id: int,
    reason: str,
    key_lifetime: timedelta,
    confirmed: bool = False,
    now: datetime | None = None,
) -> Batch:
    """Put dead letters back, each as a transition of the same row; one transaction.

    If the last outcome was a known refusal, it is composed anew under a new key. If the provider
    may have accepted it and still knows the key, the stored message goes again under the same
    key. If the key has expired, only `confirmed` sends again, under a new key.
    """
    ids = sorted(set(delivery_ids))
    with transaction.atomic():
        for lane in _lanes(ids):
            lanes.ensure(lane)
        rows = sql.rows(
            f"""
            SELECT id, status, kind, lane, organization_id, correlation_id, reference,
                   idempotency_key, handed_over_at IS NOT NULL AS may_have_accepted,
                   handed_over_at + %(key_lifetime)s <= {sql.NOW} AS key_expired
            FROM deliveries_delivery WHERE id = ANY(%(ids)s)
            ORDER BY id FOR NO KEY UPDATE
            """,
            {"ids": ids, "key_lifetime": key_lifetime, "now": now},
        )
        skipped = dict.fromkeys(set(ids) - {row.id for row in rows}, _MISSING)
        wanted = []
        for row in rows:
            if row.status != Delivery.Status.DEAD:
                skipped[row.id] = f"it is {row.status}"
            elif row.key_expired and not confirmed:
                skipped[row.id] = _UNCONFIRMED
            else:
                wanted.append(row)
        _put_back(wanted, actor_id, reason, confirmed, now)
    return Batch(done=tuple(row.id for row in wanted), skipped=skipped)


def _put_back(
    rows: Sequence[sql.Row],
    actor_id: int,
    reason: str,
    confirmed: bool,
    now: datetime | None,
) -> None:
    if not rows:
        return
    same_key = {row.id for row in rows if row.may_have_accepted and not row.key_expired}
    sql.run(
        """
        UPDATE deliveries_delivery
        SET status = 'queued', claims = 0, attempts = 0, dead_reason = '', last_error = '',
            finished_at = NULL,
            handed_over_at = CASE WHEN id = ANY(%(same_key)s) THEN handed_over_at END
        WHERE id = ANY(%(ids)s) AND status = 'dead'
        """,
        {"ids": [row.id for row in rows], "same_key": list(same_key)},
    )
    correlation_id = correlation.current_id()
    timeline.record(
        [
            timeline.Event(
                delivery_id=row.id,
                type=DeliveryEvent.Type.REPLAYED,
                sentence=f"Put back to be sent again: {reason}",
                actor_id=actor_id,
                correlation_id=correlation_id,
                details={"same_message": row.id in same_key, "confirmed": confirmed},
            )
            for row in rows
        ],
        now=now,
    )
    hooks.replayed([row.id for row in rows])
    _join_queue(rows, same_key)
    for lane in sorted({row.lane for row in rows}):
        sql.rows("SELECT pg_notify(%(channel)s, %(lane)s)", {"channel": CHANNEL, "lane": lane})
    logger.info("deliveries replayed", extra={"count": len(rows), "actor": actor_id})


def _join_queue(rows: Sequence[sql.Row], same_key: set[int]) -> None:
    """Give each row its place in the queue and, where it is composed anew, its new key.

    After the invoices, not before: a click on Send holds its invoice while it waits for the flow,
    and at its commit for the delivery, whose unique key a change of the key locks.
    """
    tags = _fair_tags(rows)
    sql.run(
        """
        UPDATE deliveries_delivery d
        SET fair_tag = change.fair_tag, idempotency_key = change.key
        FROM unnest(%(ids)s::bigint[], %(tags)s::double precision[], %(keys)s::text[])
            AS change(id, fair_tag, key)
        WHERE d.id = change.id
        """,
        {
            "ids": [row.id for row in rows],
            "tags": [tags[row.id] for row in rows],
            "keys": [
                row.idempotency_key if row.id in same_key else new_idempotency_key() for row in rows
            ],
        },
    )


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
    states = {row.id: f"it is {row.status}" for row in found}
    return Batch(
        done=tuple(done),
        skipped={missed: states.get(missed, _MISSING) for missed in set(ids) - set(done)},
    )


def _lanes(ids: Sequence[int]) -> list[str]:
    return list(
        Delivery.objects.filter(pk__in=ids)
        .order_by("lane")
        .values_list("lane", flat=True)
        .distinct()
    )


def _fair_tags(rows: Sequence[sql.Row]) -> dict[int, float]:
    """Return a new place in its flow for each row, in id order within a flow."""

    def flow(row: sql.Row) -> tuple[str, int, str]:
        return row.lane, row.organization_id, row.kind

    tags: dict[int, float] = {}
    for (lane, organization_id, kind), members in groupby(sorted(rows, key=flow), key=flow):
        group = list(members)
        try:
            weight = kinds.get(kind).weight
        except UnknownKind:
            weight = 1.0
        taken = fairness.take_tags(
            lane=lane,
            organization_id=organization_id,
            kind=kind,
            weight=weight,
            count=len(group),
        )
        tags.update(zip((row.id for row in group), taken, strict=True))
    return tags
