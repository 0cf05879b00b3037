"""A lane's limits: how many at once, how fast, and whether it stands still.

They hold for the whole fleet, so they are decided under a lock on the lane's row. Rows are
counted, never counters: a killed worker gives its slots back when its leases end.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from deliveries import correlation
from deliveries.ledger import sql, waking

logger = logging.getLogger(__name__)

# So many transport failures or 5xx in a row, over the fleet, make an outage.
OUTAGE_FAILURES = 5
PROBE_FIRST = timedelta(seconds=1)
PROBE_CAP = timedelta(seconds=30)

# "Until somebody resumes it": a time that nobody waits for, so that no column needs a special case.
UNTIL_RESUMED = timedelta(days=3653)
# No provider asks for, and no person chooses, a pause nearly as long.
_OPEN_ENDED_BEYOND = timedelta(days=366)

# The lower of what is configured and what the provider said; NULL where neither says anything.
RATE = "least(rate_per_second, reported_rate)"

# A token bucket that holds one second's worth, and at least one; NULL where there is no rate.
ALLOWANCE = f"""
    CASE WHEN {RATE} IS NULL THEN NULL
    WHEN rate_counted_at IS NULL THEN greatest({RATE}, 1)
    ELSE least(
        greatest({RATE}, 1),
        rate_allowance + {RATE} * extract(epoch FROM {sql.NOW} - rate_counted_at)
    ) END"""


@dataclass(frozen=True, kw_only=True)
class LaneState:
    """A locked lane as a claim sees it: how many more rows may be running now."""

    name: str
    room: int
    probing: bool
    paused: bool


def is_open_ended(until: datetime, *, now: datetime) -> bool:
    """Tell whether a pause has no end of its own; pages must then promise no time."""
    return until - now > _OPEN_ENDED_BEYOND


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
    """Set the fleet's limit and rate; one transaction. The worker that starts last decides.

    What the provider said of its own limit is forgotten, should it be another one by now: its
    next answer says it again.
    """
    with transaction.atomic():
        ensure(lane)
        sql.run(
            """
            UPDATE deliveries_lane
            SET "limit" = %(limit)s, rate_per_second = %(rate)s, reported_rate = NULL
            WHERE name = %(lane)s AND ("limit", rate_per_second, reported_rate)
                IS DISTINCT FROM (%(limit)s, %(rate)s::double precision, NULL::double precision)
            """,
            {"lane": lane, "limit": limit, "rate": rate_per_second},
        )


def heed_rate(lane: str, rate: float) -> None:
    """Keep to what the provider says it takes per second; joins the caller's transaction.

    Where less is configured, that holds. Writes only what is new.
    """
    changed = sql.run(
        """
        UPDATE deliveries_lane SET reported_rate = %(rate)s
        WHERE name = %(lane)s AND reported_rate IS DISTINCT FROM %(rate)s::double precision
        """,
        {"lane": lane, "rate": rate},
    )
    if changed:
        logger.info("provider says its rate", extra={"lane": lane, "per_second": rate})


def pause(
    lane: str,
    *,
    reason: str,
    for_: timedelta,
    actor_id: int | None = None,
    now: datetime | None = None,
) -> None:
    """Stop claims for a while, and record it; one transaction.

    A worker's pause (no actor) leaves one alone that already lasts longer. A person's word counts
    as it is said: it also makes a pause shorter.
    """
    reason = sql.storable(reason)[:500] or "No reason was given."
    with transaction.atomic():
        ensure(lane)
        paused = sql.one(
            f"""
            UPDATE deliveries_lane
            SET paused_until = {sql.NOW} + %(for)s, paused_reason = %(reason)s
            WHERE name = %(lane)s AND (
                %(actor)s::bigint IS NOT NULL
                OR paused_until IS NULL OR paused_until < {sql.NOW} + %(for)s
            )
            RETURNING paused_until
            """,
            {"lane": lane, "reason": reason, "for": for_, "actor": actor_id, "now": now},
        )
        if paused:
            _record_event(
                lane, "paused", reason=reason, until=paused.paused_until, actor_id=actor_id, now=now
            )
    if paused:
        logger.warning(
            "lane paused",
            extra={
                "lane": lane,
                "reason": reason,
                "for_seconds": for_.total_seconds(),
                "actor": actor_id,
            },
        )


def resume(
    lane: str, *, reason: str, actor_id: int | None = None, now: datetime | None = None
) -> bool:
    """Let claims go on, and record it; return whether the lane was paused. One transaction."""
    with transaction.atomic():
        resumed = sql.run(
            """
            UPDATE deliveries_lane SET paused_until = NULL, paused_reason = ''
            WHERE name = %(lane)s AND paused_until IS NOT NULL
            """,
            {"lane": lane},
        )
        if resumed:
            _record_event(lane, "resumed", reason=reason, until=None, actor_id=actor_id, now=now)
            waking.wake(lane)
    if resumed:
        logger.warning("lane resumed", extra={"lane": lane, "reason": reason, "actor": actor_id})
    return bool(resumed)


def _record_event(
    lane: str,
    type_: str,
    *,
    reason: str,
    until: datetime | None,
    actor_id: int | None,
    now: datetime | None,
) -> None:
    """Append to the lane's history.

    A provider that throttles pauses the lane every second: what only repeats a worker's last
    words, within the hour, is left out.
    """
    sql.run(
        f"""
        INSERT INTO deliveries_laneevent
            (lane_id, at, type, until, actor_id, correlation_id, reason)
        SELECT %(lane)s, {sql.NOW}, %(type)s, %(until)s::timestamptz, %(actor)s::bigint,
               %(correlation_id)s, %(reason)s
        WHERE %(actor)s::bigint IS NOT NULL OR NOT EXISTS (
            SELECT 1 FROM (
                SELECT type, reason, actor_id, at FROM deliveries_laneevent
                WHERE lane_id = %(lane)s ORDER BY id DESC LIMIT 1
            ) last
            WHERE last.type = %(type)s AND last.reason = %(reason)s AND last.actor_id IS NULL
              AND last.at > {sql.NOW} - interval '1 hour'
        )
        """,
        {
            "lane": lane,
            "type": type_,
            "until": until,
            "actor": actor_id,
            "correlation_id": correlation.current_id(),
            "reason": sql.storable(reason)[:500] or "No reason was given.",
            "now": now,
        },
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
        SELECT "limit", failures_in_a_row, {RATE} IS NOT NULL AS rated,
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
        SELECT count(*) AS rows FROM ONLY deliveries_delivery
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
            rate_counted_at = CASE WHEN {RATE} IS NOT NULL THEN {sql.NOW} END,
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
