"""A person puts dead letters back."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from itertools import groupby

from django.db import transaction

from deliveries import correlation, kinds
from deliveries.errors import ConfirmationNeeded, UnknownKind, WrongState
from deliveries.ledger import fairness, hooks, lanes, sql, timeline, waking
from deliveries.ledger.batches import MISSING, STATE_WORDS, Batch
from deliveries.ledger.requesting import new_idempotency_key
from deliveries.models import Delivery, DeliveryEvent

logger = logging.getLogger(__name__)

# Rows and their invoices are locked until the transaction ends, and finance clicks meanwhile.
AT_ONCE = 250


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


class Case(Enum):
    """How a dead letter can be sent again; see docs/architecture.md."""

    # The provider refused it, or never got it: composed from today's data under a new key.
    ANEW = "anew"
    # The provider may have accepted it and still knows the key: the stored message, byte for byte.
    SAME = "same"
    # The provider may have accepted it, and has forgotten the key: only a person can tell.
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """What a replay would do to one delivery: a case, or the reason why it would be skipped."""

    delivery_id: int
    case: Case | None
    why_not: str = ""
    # Until when the provider knows the key, for `Case.SAME`.
    key_known_until: datetime | None = None


_UNCONFIRMED = "the customer may have it already, which must be confirmed"


def prospects(
    delivery_ids: Iterable[int], *, key_lifetime: timedelta, now: datetime | None = None
) -> list[Prospect]:
    """Tell what a replay would do to each, by id; locks and writes nothing."""
    ids = sorted(set(delivery_ids))
    rows = sql.rows(_ROWS, _about(ids, key_lifetime, now))
    return [_prospect(row) for row in rows] + _missing(ids, rows)


def replay_many(
    delivery_ids: Iterable[int],
    *,
    actor_id: int,
    reason: str,
    key_lifetime: timedelta,
    confirmed: bool = False,
    died_by: datetime | None = None,
    now: datetime | None = None,
) -> Batch:
    """Put dead letters back, each as a transition of the same row; a transaction for each few.

    If the last outcome was a known refusal, it is composed anew under a new key. If the provider
    may have accepted it and still knows the key, the stored message goes again under the same
    key. If the key has expired, only `confirmed` sends again, under a new key.
    `died_by` is when the person looked. What died again since, or became unknown since, is
    skipped: a click confirms only what was seen.
    """
    order = _Order(
        actor_id=actor_id,
        reason=reason,
        confirmed=confirmed,
        died_by=died_by,
        key_lifetime=key_lifetime,
        now=now,
    )
    ids = sorted(set(delivery_ids))
    with correlation.bound(correlation_id=correlation.current_id()):
        return Batch.of(
            _replay_some(ids[start : start + AT_ONCE], order, batch_of=len(ids))
            for start in range(0, len(ids), AT_ONCE)
        )


@dataclass(frozen=True, kw_only=True)
class _Order:
    """What a person wants, and what they saw."""

    actor_id: int
    reason: str
    confirmed: bool
    died_by: datetime | None
    key_lifetime: timedelta
    now: datetime | None

    def objection(self, row: sql.Row) -> str:
        """Return why this row is to be left alone; empty if it is not."""
        prospect = _prospect(row)
        if prospect.case is None:
            return prospect.why_not
        if self.died_by is not None and row.finished_at > self.died_by:
            return "replayed meanwhile, and not sent again: look at it anew"
        if prospect.case is not Case.UNKNOWN:
            return ""
        if self.died_by is not None and row.key_known_until > self.died_by:
            return "the provider has forgotten its key since you looked: look at it anew"
        return "" if self.confirmed else _UNCONFIRMED


def _replay_some(ids: Sequence[int], order: _Order, *, batch_of: int) -> Batch:
    """Replay a few in one transaction; each whose invoice cannot follow is skipped."""
    with transaction.atomic():
        for lane in _lanes(ids):
            lanes.ensure(lane)
        parameters = _about(ids, order.key_lifetime, order.now)
        rows = sql.locked(f"{_ROWS} FOR NO KEY UPDATE", parameters)
        skipped = {missing.delivery_id: missing.why_not for missing in _missing(ids, rows)}
        skipped |= {row.id: why for row in rows if (why := order.objection(row))}
        wanted = [row for row in rows if row.id not in skipped]
        busy = hooks.replayed([row.id for row in wanted])
        skipped |= dict.fromkeys(busy, "its invoice is in use right now: try again")
        wanted = [row for row in wanted if row.id not in busy]
        _put_back(wanted, order, batch_of)
    return Batch(done=tuple(row.id for row in wanted), skipped=skipped)


_ROWS = f"""
    SELECT id, status, kind, lane, organization_id, correlation_id, reference, idempotency_key,
           finished_at, handed_over_at IS NOT NULL AS may_have_accepted,
           handed_over_at + %(key_lifetime)s <= {sql.NOW} AS key_expired,
           handed_over_at + %(key_lifetime)s AS key_known_until
    FROM deliveries_delivery WHERE id = ANY(%(ids)s) ORDER BY id
"""


def _about(ids: Sequence[int], key_lifetime: timedelta, now: datetime | None) -> dict[str, object]:
    return {"ids": list(ids), "key_lifetime": key_lifetime, "now": now}


def _prospect(row: sql.Row) -> Prospect:
    if row.status != Delivery.Status.DEAD:
        why_not = STATE_WORDS[Delivery.Status(row.status)]
        return Prospect(delivery_id=row.id, case=None, why_not=why_not)
    if not row.may_have_accepted:
        return Prospect(delivery_id=row.id, case=Case.ANEW)
    if row.key_expired:
        return Prospect(delivery_id=row.id, case=Case.UNKNOWN)
    return Prospect(delivery_id=row.id, case=Case.SAME, key_known_until=row.key_known_until)


def _missing(ids: Sequence[int], rows: Sequence[sql.Row]) -> list[Prospect]:
    missing = sorted(set(ids) - {row.id for row in rows})
    return [Prospect(delivery_id=id_, case=None, why_not=MISSING) for id_ in missing]


def _put_back(rows: Sequence[sql.Row], order: _Order, batch_of: int) -> None:
    if not rows:
        return
    same_key = {row.id for row in rows if row.may_have_accepted and not row.key_expired}
    sql.run(
        f"""
        UPDATE ONLY deliveries_delivery
        SET status = 'queued', waiting_since = {sql.NOW}, claims = 0, attempts = 0,
            dead_reason = '', last_error = '', finished_at = NULL,
            handed_over_at = CASE WHEN id = ANY(%(same_key)s) THEN handed_over_at END
        WHERE id = ANY(%(ids)s) AND status = 'dead'
        """,
        {"ids": [row.id for row in rows], "same_key": list(same_key), "now": order.now},
    )
    correlation_id = correlation.current_id()
    timeline.record(
        [
            timeline.Event(
                delivery_id=row.id,
                type=DeliveryEvent.Type.REPLAYED,
                sentence=f"Put back to be sent again: {order.reason}",
                actor_id=order.actor_id,
                correlation_id=correlation_id,
                details={
                    "same_message": row.id in same_key,
                    "confirmed": order.confirmed,
                    "batch_of": batch_of,
                },
            )
            for row in rows
        ],
        now=order.now,
    )
    _join_queue(rows, same_key)
    for lane in sorted({row.lane for row in rows}):
        waking.wake(lane)
    logger.info("deliveries replayed", extra={"count": len(rows), "actor": order.actor_id})


def _join_queue(rows: Sequence[sql.Row], same_key: set[int]) -> None:
    """Give each row its place in the queue and, where it is composed anew, its new key.

    After the invoices, not before: a click on Send holds its invoice while it waits for the flow,
    and at its commit for the delivery, whose unique key a change of the key locks.
    """
    tags = _fair_tags(rows)
    sql.run(
        """
        UPDATE ONLY deliveries_delivery d
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
