"""The admin's start page as values: the numbers that matter now, as far as a person may see."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from deliveries import overview, spans
from deliveries.chart import Chart, draw
from deliveries.ledger import sql
from deliveries.overview import Count, DeadOf, Fleet, LaneNow


class Person(Protocol):
    """Whoever is signed in."""

    def has_perm(self, perm: str) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """What waits in all lanes together, and since when the oldest does."""

    waiting: Count
    running: int
    oldest: str


@dataclass(frozen=True, kw_only=True)
class RightNow:
    """The page's numbers; None stands for what the person may not see."""

    at: datetime
    dead: tuple[DeadOf, ...] | None = None
    backlog: Backlog | None = None
    chart: Chart | None = None
    lanes: tuple[LaneNow, ...] | None = None
    fleet: Fleet | None = None

    @property
    def dead_in_all(self) -> Count:
        return sum((each.count for each in self.dead or ()), Count(number=0))

    @property
    def paused(self) -> tuple[LaneNow, ...]:
        return tuple(lane for lane in self.lanes or () if lane.pause)

    @property
    def stranded(self) -> bool:
        """Nobody works, and something waits: the one thing that does not heal by itself."""
        waits = self.backlog is not None and bool(self.backlog.waiting)
        return waits and self.fleet is not None and not self.fleet.alive


def shown_to(person: Person, *, now: datetime | None = None) -> RightNow:
    """Return what the person may see of this moment; six queries at most."""
    sees = {
        word: person.has_perm(f"deliveries.view_{word}")
        for word in ("delivery", "lane", "workerpresence")
    }
    lanes = overview.lanes(now=now) if sees["delivery"] or sees["lane"] else ()
    return RightNow(
        at=sql.database_now(now).astimezone(UTC),
        dead=overview.dead() if sees["delivery"] else None,
        backlog=_backlog(lanes) if sees["delivery"] else None,
        chart=draw(overview.day(now=now)) if sees["delivery"] else None,
        lanes=lanes if sees["lane"] else None,
        fleet=overview.fleet(now=now) if sees["workerpresence"] else None,
    )


def _backlog(lanes: tuple[LaneNow, ...]) -> Backlog:
    oldest = overview.oldest_waiting(lanes)
    return Backlog(
        waiting=overview.waiting(lanes),
        running=sum(lane.running for lane in lanes),
        oldest="" if oldest is None else spans.in_words(oldest),
    )
