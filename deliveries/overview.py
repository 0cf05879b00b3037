"""The ledger's numbers of this moment: what runs, what waits, what died, and who works.

Read by the admin's pages, which stay open all day: beside any number of old rows each statement
reads only what is hot, by a partial index, and counting stops at 10,000. Each subquery asks in the
order of its index, since without one the planner may hope to find the rows by reading the table.
Time is the database's; a test passes `now`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from deliveries import spans
from deliveries.ledger import sql
from deliveries.ledger.lanes import OUTAGE_FAILURES, RATE, is_open_ended
from deliveries.models import ALIVE_WITHIN, Delivery, LaneEvent

COUNTED_UP_TO = 10_000
HOURS = 24


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many; `capped` where counting stopped before the end."""

    number: int
    capped: bool = False

    @classmethod
    def of(cls, rows: int) -> "Count":
        return cls(number=min(rows, COUNTED_UP_TO), capped=rows > COUNTED_UP_TO)

    def __add__(self, other: "Count") -> "Count":
        both = self.number + other.number
        capped = self.capped or other.capped or both > COUNTED_UP_TO
        return Count(number=min(both, COUNTED_UP_TO), capped=capped)

    def __bool__(self) -> bool:
        return bool(self.number)

    def __str__(self) -> str:
        return f"{self.number:,}+" if self.capped else f"{self.number:,}"


@dataclass(frozen=True, kw_only=True)
class Pause:
    """A pause that holds; `by` is a person's user name, empty where a worker paused."""

    until: datetime
    reason: str
    by: str
    open_ended: bool


@dataclass(frozen=True, kw_only=True)
class LaneNow:
    """A lane: its limits, what runs under leases that hold, what waits, whether it stands."""

    name: str
    limit: int
    rate_per_second: float | None
    running: int
    queued: Count
    retrying: Count
    oldest_waiting: timedelta | None
    probing: bool
    pause: Pause | None

    @property
    def waiting(self) -> Count:
        return self.queued + self.retrying

    @property
    def rate_in_words(self) -> str:
        return "" if self.rate_per_second is None else f"{self.rate_per_second:g} a second"

    @property
    def oldest_in_words(self) -> str:
        return "" if self.oldest_waiting is None else spans.in_words(self.oldest_waiting)


@dataclass(frozen=True, kw_only=True)
class DeadOf:
    """Dead letters of one reason."""

    reason: Delivery.DeadReason
    count: Count


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The workers' sum: who is there, and how many vanished without a farewell within a day."""

    alive: int
    gone: int
    in_flight: int
    threads: int


@dataclass(frozen=True, kw_only=True)
class Hour:
    """What one hour, beginning `at`, saw sent and saw die."""

    at: datetime
    sent: int = 0
    dead: int = 0

    @property
    def label(self) -> str:
        return f"{self.at:%H:%M}–{self.at + timedelta(hours=1):%H:%M} UTC"


def lanes(*, now: datetime | None = None) -> tuple[LaneNow, ...]:
    """Return every lane by name; two queries, the second only if one is paused."""
    found = sql.rows(
        f"""
        SELECT name, "limit", {RATE} AS rate_per_second, paused_until, paused_reason,
            coalesce(paused_until > {sql.NOW}, false) AS paused,
            failures_in_a_row >= %(outage)s AS probing, {sql.NOW} AS now,
            (SELECT count(*) FROM ONLY deliveries_delivery
             WHERE status = 'running' AND lane = name AND locked_until > {sql.NOW}) AS running,
            (SELECT count(*) FROM (
                SELECT 1 FROM ONLY deliveries_delivery WHERE status = 'queued' AND lane = name
                ORDER BY fair_tag, id LIMIT %(most)s + 1) AS first) AS queued,
            (SELECT count(*) FROM (
                SELECT 1 FROM ONLY deliveries_delivery WHERE status = 'retrying' AND lane = name
                ORDER BY next_attempt_at LIMIT %(most)s + 1) AS first) AS retrying,
            (SELECT {sql.NOW} - waiting_since FROM ONLY deliveries_delivery
             WHERE status IN ('queued', 'retrying') AND lane = name
             ORDER BY waiting_since LIMIT 1) AS oldest_waiting
        FROM deliveries_lane ORDER BY name
        """,
        {"outage": OUTAGE_FAILURES, "most": COUNTED_UP_TO, "now": now},
    )
    by = _who_paused([row.name for row in found if row.paused])
    return tuple(_lane(row, by=by.get(row.name, "")) for row in found)


def lane(name: str, *, now: datetime | None = None) -> LaneNow | None:
    """Return that lane, or None; there are too few of them to ask for one apart."""
    return next((each for each in lanes(now=now) if each.name == name), None)


def oldest_waiting(found: tuple[LaneNow, ...]) -> timedelta | None:
    """Return the longest that anything waits in any of the lanes."""
    return max((each.oldest_waiting for each in found if each.oldest_waiting), default=None)


def waiting(found: tuple[LaneNow, ...]) -> Count:
    return sum((each.waiting for each in found), Count(number=0))


def dead() -> tuple[DeadOf, ...]:
    """Return how many dead letters there are of each reason, of none as well; one query.

    Beyond 10,000 only the newest are sorted by reason, and every count is "at least".
    """
    found = sql.rows(
        """
        SELECT dead_reason, count(*) AS rows FROM (
            SELECT dead_reason FROM ONLY deliveries_delivery WHERE status = 'dead'
            ORDER BY finished_at DESC LIMIT %(most)s + 1
        ) newest GROUP BY dead_reason
        """,
        {"most": COUNTED_UP_TO},
    )
    counts = {row.dead_reason: row.rows for row in found}
    capped = sum(counts.values()) > COUNTED_UP_TO
    return tuple(
        DeadOf(
            reason=reason,
            count=Count(number=min(counts.get(reason, 0), COUNTED_UP_TO), capped=capped),
        )
        for reason in Delivery.DeadReason
    )


def fleet(*, now: datetime | None = None) -> Fleet:
    """Return the workers' sum, by when they were last seen; one query."""
    row = sql.one(
        f"""
        SELECT count(*) FILTER (WHERE alive) AS alive, count(*) FILTER (WHERE NOT alive) AS gone,
            coalesce(sum(in_flight) FILTER (WHERE alive), 0) AS in_flight,
            coalesce(sum(threads) FILTER (WHERE alive), 0) AS threads
        FROM (SELECT in_flight, threads, last_seen_at > {sql.NOW} - %(within)s AS alive
              FROM deliveries_workerpresence) seen
        """,
        {"within": ALIVE_WITHIN, "now": now},
    )
    return Fleet(alive=row.alive, gone=row.gone, in_flight=row.in_flight, threads=row.threads)


def day(*, now: datetime | None = None) -> tuple[Hour, ...]:
    """Return the last 24 hours of UTC, this one included, oldest first; one query."""
    began = f"date_trunc('hour', {sql.NOW}, 'UTC') - %(hours)s * interval '1 hour'"
    found = sql.rows(
        f"""
        SELECT {began} + n * interval '1 hour' AS at, coalesce(sent, 0) AS sent,
            coalesce(dead, 0) AS dead
        FROM generate_series(0, %(hours)s) AS n LEFT JOIN (
            SELECT date_trunc('hour', at, 'UTC') AS hour,
                count(*) FILTER (WHERE type = 'sent') AS sent,
                count(*) FILTER (WHERE type = 'died') AS dead
            FROM ONLY deliveries_deliveryevent
            WHERE at >= {began} AND at <= {sql.NOW} AND type IN ('sent', 'died')
            GROUP BY 1
        ) counted ON hour = {began} + n * interval '1 hour'
        ORDER BY n
        """,
        {"hours": HOURS - 1, "now": now},
    )
    return tuple(Hour(at=row.at.astimezone(UTC), sent=row.sent, dead=row.dead) for row in found)


def _lane(row: sql.Row, *, by: str) -> LaneNow:
    pause = (
        Pause(
            until=row.paused_until,
            reason=row.paused_reason,
            by=by,
            open_ended=is_open_ended(row.paused_until, now=row.now),
        )
        if row.paused
        else None
    )
    return LaneNow(
        name=row.name,
        limit=row.limit,
        rate_per_second=row.rate_per_second,
        running=row.running,
        queued=Count.of(row.queued),
        retrying=Count.of(row.retrying),
        oldest_waiting=row.oldest_waiting,
        probing=row.probing,
        pause=pause,
    )


def _who_paused(names: list[str]) -> dict[str, str]:
    """Return the user name behind each lane's last pause, where it was a person."""
    if not names:
        return {}
    last = (
        LaneEvent.objects.filter(lane__in=names, type=LaneEvent.Type.PAUSED)
        .order_by("lane_id", "-id")
        .distinct("lane_id")
        .select_related("actor")
    )
    return {event.lane_id: event.actor.get_username() for event in last if event.actor}
