"""Taking ready rows for a worker, under a lease and under the lane's limits."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from django.db import transaction

from deliveries import kinds
from deliveries.ledger import lanes, sql, timeline
from deliveries.ledger.burying import bury_crashed
from deliveries.models import DeliveryEvent

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A leased row. Id and token together are the right to change it, while the lease holds."""

    delivery_id: int
    token: int
    lane: str
    kind: str
    reference: str
    idempotency_key: str
    correlation_id: str
    claims: int
    attempts: int
    handed_over_at: datetime | None
    # Whose lease ran out before this one, if one did.
    lost_by: str | None = None

    @property
    def lease(self) -> tuple[int, int]:
        """Which lease it is: a worker that lost a row can have claimed it again itself."""
        return self.delivery_id, self.token

    @property
    def log_fields(self) -> dict[str, object]:
        return {
            "correlation_id": self.correlation_id,
            "delivery": self.delivery_id,
            "kind": self.kind,
            "invoice": self.reference,
        }


_CLAIM_COLUMNS = tuple(field.name for field in fields(Claim) if field.name != "lane")


def claim(
    lane: str,
    *,
    worker: str,
    capacity: int,
    lease: timedelta,
    max_claims: int,
    now: datetime | None = None,
) -> list[Claim]:
    """Lease up to `capacity` rows, fewer where the lane has less room; one transaction.

    Rows whose lease ran out come first, then ready ones in fair order. A row that has crashed
    `max_claims` workers is dead instead. Only kinds that this code knows are taken.
    """
    parameters = {
        "lane": lane,
        "kinds": kinds.known(lane),
        "worker": worker,
        "lease": lease,
        "now": now,
    }
    with transaction.atomic():
        state = lanes.lock(lane, now=now)
        bury_crashed(lane, max_claims=max_claims, worker=worker, now=now)
        room = min(capacity, state.room)
        if room <= 0:
            return []
        recovered = sql.rows(_CLAIM_EXPIRED, parameters | {"room": room})
        ready = sql.rows(_CLAIM_READY, parameters | {"room": room - len(recovered)})
        recovered.sort(key=lambda row: row.delivery_id)
        ready.sort(key=lambda row: (row.fair_tag, row.delivery_id))
        _record_lost_leases(recovered, worker, now)
        if recovered or ready:
            lanes.took(
                state,
                count=len(recovered) + len(ready),
                virtual_time=ready[-1].fair_tag if ready else None,
                now=now,
            )
    return [_claim(row, lane) for row in (*recovered, *ready)]


def extend(
    claims: Sequence[Claim], *, lease: timedelta, now: datetime | None = None
) -> list[Claim]:
    """Renew leases still held; return the claims that are lost. One statement.

    Joins the caller's transaction, in which the lane is locked: a claim beside it would not count
    a lease that had just run out, and is about to hold again. In id order, as every lock on
    deliveries, so that two workers never wait for each other.
    """
    if not claims:
        return []
    held = sql.rows(
        f"""
        WITH mine AS (
            SELECT d.id FROM ONLY deliveries_delivery d
            JOIN unnest(%(ids)s::bigint[], %(tokens)s::bigint[]) AS claim(id, token)
              ON d.id = claim.id AND d.lease_token = claim.token
            WHERE d.status = 'running' ORDER BY d.id FOR NO KEY UPDATE OF d
        )
        UPDATE ONLY deliveries_delivery d SET locked_until = {sql.NOW} + %(lease)s
        FROM mine WHERE d.id = mine.id RETURNING d.id, d.lease_token
        """,
        {
            "ids": [claim.delivery_id for claim in claims],
            "tokens": [claim.token for claim in claims],
            "lease": lease,
            "now": now,
        },
    )
    renewed = {(row.id, row.lease_token) for row in held}
    return [claim for claim in claims if claim.lease not in renewed]


def wake_due(lane: str, *, limit: int = 1000, now: datetime | None = None) -> int:
    """Make retries whose time has come ready again; return how many. One statement.

    They take a turn with the others of today: with their old place they would stand before all
    that came since, and one organization's failing deliveries before everybody else's.
    """
    weights = kinds.weights(lane)
    return sql.run(
        f"""
        WITH due AS (
            SELECT id, organization_id, kind, fair_tag FROM ONLY deliveries_delivery
            WHERE status = 'retrying' AND lane = %(lane)s AND next_attempt_at <= {sql.NOW}
            ORDER BY next_attempt_at, id LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED
        ), place AS (
            SELECT id, coalesce(span, 1) * row_number() OVER (
                PARTITION BY organization_id, kind ORDER BY fair_tag, id
            ) AS turn
            FROM due LEFT JOIN unnest(%(kinds)s::text[], %(spans)s::float8[]) AS known (kind, span)
                USING (kind)
        )
        UPDATE ONLY deliveries_delivery d
        SET status = 'queued', next_attempt_at = NULL,
            fair_tag = greatest(d.fair_tag, lane.virtual_time + place.turn)
        FROM place, deliveries_lane lane WHERE d.id = place.id AND lane.name = %(lane)s
        """,
        {
            "lane": lane,
            "limit": limit,
            "kinds": list(weights),
            "spans": [1 / weight for weight in weights.values()],
            "now": now,
        },
    )


_TAKE = f"""
    UPDATE ONLY deliveries_delivery d
    SET status = 'running', claims = d.claims + 1, lease_token = d.lease_token + 1,
        locked_by = %(worker)s, locked_until = {sql.NOW} + %(lease)s
    FROM taken WHERE d.id = taken.id
    RETURNING d.id AS delivery_id, d.lease_token AS token, d.kind, d.reference, d.idempotency_key,
              d.correlation_id, d.claims, d.attempts, d.handed_over_at, d.fair_tag, taken.lost_by,
              taken.expired_for
"""

# MATERIALIZED: the rows are chosen once; otherwise the planner may run the locking select again
# for each row of the join and lease more than `room`.
_CLAIM_EXPIRED = f"""
    WITH taken AS MATERIALIZED (
        SELECT id, locked_by AS lost_by,
               round(extract(epoch FROM {sql.NOW} - locked_until), 3)::float8 AS expired_for
        FROM ONLY deliveries_delivery
        WHERE status = 'running' AND lane = %(lane)s AND kind = ANY(%(kinds)s)
          AND locked_until <= {sql.NOW}
        ORDER BY id LIMIT %(room)s FOR NO KEY UPDATE SKIP LOCKED
    ) {_TAKE}
"""

# Ordered by (fair_tag, id): an order by id alone lets a plan walk the primary key, past every
# delivery ever made. tests/ledger/test_plans.py holds the plan.
_CLAIM_READY = f"""
    WITH taken AS MATERIALIZED (
        SELECT id, NULL::text AS lost_by, NULL::float8 AS expired_for
        FROM ONLY deliveries_delivery
        WHERE status = 'queued' AND lane = %(lane)s AND kind = ANY(%(kinds)s)
        ORDER BY fair_tag, id LIMIT %(room)s FOR NO KEY UPDATE SKIP LOCKED
    ) {_TAKE}
"""


def _claim(row: sql.Row, lane: str) -> Claim:
    values = {name: getattr(row, name) for name in _CLAIM_COLUMNS}
    return Claim(lane=lane, **values)


def _record_lost_leases(recovered: Sequence[sql.Row], worker: str, now: datetime | None) -> None:
    for row in recovered:
        logger.warning(
            "lease lost",
            extra={
                "correlation_id": row.correlation_id,
                "delivery": row.delivery_id,
                "invoice": row.reference,
                "lost_by": row.lost_by,
                "worker": worker,
                "claims": row.claims,
            },
        )
    timeline.record(
        [
            timeline.Event(
                delivery_id=row.delivery_id,
                type=DeliveryEvent.Type.LEASE_LOST,
                sentence=f"Worker {row.lost_by} did not report back in time; {worker} took over.",
                worker=worker,
                correlation_id=row.correlation_id,
                details={
                    "lost_by": row.lost_by,
                    "claims": row.claims,
                    "lease_over_for_seconds": row.expired_for,
                },
            )
            for row in recovered
        ],
        now=now,
    )
