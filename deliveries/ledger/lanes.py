"""A lane's limits: how many at once, how fast, and whether it stands still.

They hold for the whole fleet, so they are decided under a lock on the lane's row. Rows are
counted, never counters: a killed worker gives its slots back when its leases end.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from deliveries.ledger import sql

logger = logging.getLogger(__name__)

# So many transport failures or 5xx in a row, over the fleet, make an outage.
OUTAGE_FAILURES = 5
PROBE_FIRST = timedelta(seconds=1)
PROBE_CAP = timedelta(seconds=30)

# A token bucket that holds one second's worth, and at least one; NULL where there is no rate.
ALLOWANCE = f"""
    CASE WHEN rate_per_second IS NULL THEN NULL
    WHEN rate_counted_at IS NULL THEN greatest(rate_per_second, 1)
    ELSE least(
        greatest(rate_per_second, 1),
        rate_allowance + rate_per_second * extract(epoch FROM {sql.NOW} - rate_counted_at)
    ) END"""


@dataclass(frozen=True, kw_only=True)
class LaneState:
    """A locked lane as a claim sees it: how many more rows may be running now."""

    name: str
    room: int
    probing: bool
    paused: bool


def ensure(lane: str) -> None:
    """Make the lane's row if there is none; joins the caller's transaction."""
    if sql.one("SELECT 1 AS found FROM deliveries_lane WHERE name = %(lane)s", {"lane": lane}):
        return
    sql.run(
        """
        INSERT INTO deliveries_lane
            (name, "limit", rate_allowance, paused_reason, virtual_time, failures_in_a_row)
        VALUES (%(lane)s, 5, 0, '', 0, 0) ON CONFLICT DO NOTHING
        """,
        {"lane": lane},
    )


def configure(lane: str, *, limit: int, rate_per_second: float | None) -> None:
    """Set the fleet's limit and rate; one transaction. The worker that starts last decides."""
    with transaction.atomic():
        ensure(lane)
        sql.run(
            """
            UPDATE deliveries_lane SET "limit" = %(limit)s, rate_per_second = %(rate)s
            WHERE name = %(lane)s AND ("limit", rate_per_second)
                IS DISTINCT FROM (%(limit)s, %(rate)s::double precision)
            """,
            {"lane": lane, "limit": limit, "rate": rate_per_second},
        )


def pause(lane: str, *, reason: str, for_: timedelta, now: datetime | None = None) -> None:
    """Stop claims for a while; a pause that already lasts longer stays. One transaction."""
    with transaction.atomic():
        ensure(lane)
        changed = sql.run(
            f"""
            UPDATE deliveries_lane
            SET paused_until = {sql.NOW} + %(for)s, paused_reason = %(reason)s
            WHERE name = %(lane)s
              AND (paused_until IS NULL OR paused_until < {sql.NOW} + %(for)s)
            """,
            {
                "lane": lane,
                "reason": sql.storable(reason)[:500] or "No reason was given.",
                "for": for_,
                "now": now,
            },
        )
    if changed:
        logger.warning(
            "lane paused",
            extra={"lane": lane, "reason": reason, "for_seconds": for_.total_seconds()},
        )


def resume(lane: str) -> bool:
    """Let claims go on; return whether the lane was paused. One transaction."""
    return bool(
        sql.run(
            """
            UPDATE deliveries_lane SET paused_until = NULL, paused_reason = ''
            WHERE name = %(lane)s AND paused_until IS NOT NULL
            """,
            {"lane": lane},
        )
    )


def lock_lane(lane: str) -> None:
    """Lock the lane's row before its deliveries, as the lock order asks; joins the caller's."""
    sql.rows(
        "SELECT 1 FROM deliveries_lane WHERE name = %(lane)s FOR NO KEY UPDATE", {"lane": lane}
    )


def lock(lane: str, *, now: datetime | None = None) -> LaneState:
    """Lock the lane's row and count its room; joins the caller's transaction.

    NO KEY UPDATE, because nothing here changes the name. The running rows are counted in a second
    statement: its snapshot is taken after the lock was had, so it sees what the lock's last holder
    committed. In one statement it would not, and two claims could share a slot.
    """
    locked = sql.one(
        f"""
        SELECT "limit", failures_in_a_row, rate_per_second IS NOT NULL AS rated,
               coalesce(paused_until > {sql.NOW}, false) AS paused,
               coalesce(next_probe_at > {sql.NOW}, false) AS between_probes,
               floor({ALLOWANCE}) AS allowance
        FROM deliveries_lane WHERE name = %(lane)s FOR NO KEY UPDATE
        """,
        {"lane": lane, "now": now},
    )
    if locked is None:
        return LaneState(name=lane, room=0, probing=False, paused=False)
    running = sql.one(
        f"""
        SELECT count(*) AS rows FROM deliveries_delivery
        WHERE status = 'running' AND lane = %(lane)s AND locked_until > {sql.NOW}
        """,
        {"lane": lane, "now": now},
    ).rows
    probing = locked.failures_in_a_row >= OUTAGE_FAILURES
    limit = 1 if probing else locked.limit
    room = limit - running
    if locked.rated:
        room = min(room, int(locked.allowance))
    if locked.paused or (probing and locked.between_probes):
        room = 0
    return LaneState(name=lane, room=max(0, room), probing=probing, paused=locked.paused)


def took(
    lane: LaneState, *, count: int, virtual_time: float | None, now: datetime | None = None
) -> None:
    """Account for rows just claimed under the lock: virtual time, rate, the probe."""
    sql.run(
        f"""
        UPDATE deliveries_lane
        SET virtual_time = greatest(virtual_time, %(virtual_time)s::double precision),
            rate_allowance = coalesce({ALLOWANCE} - %(count)s, 0),
            rate_counted_at = CASE WHEN rate_per_second IS NOT NULL THEN {sql.NOW} END,
            next_probe_at = CASE WHEN %(probing)s THEN {sql.NOW} + least(
                %(cap)s, %(first)s * power(2, least(failures_in_a_row - %(threshold)s, 20))
            ) END
        WHERE name = %(lane)s
        """,
        {
            "lane": lane.name,
            "count": count,
            "virtual_time": virtual_time,
            "probing": lane.probing,
            "cap": PROBE_CAP,
            "first": PROBE_FIRST,
            "threshold": OUTAGE_FAILURES,
            "now": now,
        },
    )


def record_results(lane: str, *, reached: bool, failures: int) -> None:
    """Count failures to reach the provider in a row, for the outage; joins the caller's.

    `reached` says that the provider handled something sensibly meanwhile: the outage is over.
    """
    sql.run(
        """
        UPDATE deliveries_lane
        SET failures_in_a_row =
                CASE WHEN %(reached)s THEN 0 ELSE failures_in_a_row + %(failures)s END,
            next_probe_at = CASE WHEN %(reached)s THEN NULL ELSE next_probe_at END
        WHERE name = %(lane)s AND (%(failures)s > 0 OR failures_in_a_row > 0)
        """,
        {"lane": lane, "reached": reached, "failures": failures},
    )
