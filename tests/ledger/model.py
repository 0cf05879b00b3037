"""What the ledger should hold, in memory: the design's states, without a database or a race."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from deliveries.ledger import Claim
from deliveries.outcomes import Cancelled, Dead, Outcome, PutBack, RetryLater, Sent
from tests.ledger.steps import Status

LEASE = timedelta(seconds=60)
NEEDS = timedelta(seconds=20)
KEY_LIFETIME = timedelta(hours=1)
LIMIT = 2
MAX_CLAIMS = 2


@dataclass(eq=False)
class Row:
    pk: int
    kind: str
    fair_tag: float
    idempotency_key: str
    status: str = Status.QUEUED
    lease_token: int = 0
    claims: int = 0
    attempts: int = 0
    locked_by: str | None = None
    locked_until: datetime | None = None
    next_attempt_at: datetime | None = None
    handed_over_at: datetime | None = None
    dead_reason: str = ""
    # What the customer got, and how often that is all right: once, and once more for each time
    # that a person looked and confirmed that it may go out under a new key.
    mails: int = 0
    mails_allowed: int = 1

    def take(self, worker: str, now: datetime) -> None:
        self.status, self.locked_by, self.locked_until = Status.RUNNING, worker, now + LEASE
        self.claims += 1
        self.lease_token += 1

    def leave(self, status: str, *, dead_reason: str = "") -> None:
        self.status, self.dead_reason = status, dead_reason
        self.locked_by = self.locked_until = self.next_attempt_at = None

    def settle(self, outcome: Outcome, now: datetime) -> None:
        if isinstance(outcome, PutBack):
            self.claims -= 1
        else:
            self.claims, self.attempts = 0, self.attempts + 1
        match outcome:
            case Sent():
                self.leave(Status.SENT)
            case RetryLater():
                self.leave(Status.RETRYING)
                self.next_attempt_at = now + outcome.delay
            case Dead():
                self.leave(Status.DEAD, dead_reason=outcome.reason)
            case Cancelled():
                self.leave(Status.CANCELLED)
            case PutBack():
                self.leave(Status.QUEUED)
        if isinstance(outcome, RetryLater | Dead | PutBack) and not outcome.may_have_accepted:
            self.handed_over_at = None

    def key_has_expired(self, now: datetime) -> bool:
        return self.handed_over_at is not None and self.handed_over_at + KEY_LIFETIME <= now

    def is_due(self, now: datetime) -> bool:
        return self.next_attempt_at is not None and self.next_attempt_at <= now

    def lease_has_ended(self, now: datetime) -> bool:
        return self.locked_until is not None and self.locked_until <= now


@dataclass(eq=False)
class Attempt:
    """A claim in a worker's hands: what it has done with it, and what came of it."""

    claim: Claim
    in_the_air_until: datetime | None = None
    outcome: Outcome | None = None

    @property
    def handed_over_before(self) -> bool:
        return self.claim.handed_over_at is not None


@dataclass(eq=False)
class Model:
    now: datetime
    rows: dict[int, Row] = field(default_factory=dict)
    virtual_time: float = 0
    last_tags: dict[str, float] = field(default_factory=dict)
    paused_until: datetime | None = None
    # What the provider remembers: each key that it accepted, and since when.
    accepted: dict[str, datetime] = field(default_factory=dict)

    def row(self, attempt: Attempt) -> Row:
        return self.rows[attempt.claim.delivery_id]

    def holds(self, attempt: Attempt) -> bool:
        row = self.row(attempt)
        return row.status == Status.RUNNING and row.lease_token == attempt.claim.token

    def having(self, *statuses: str) -> list[Row]:
        return [row for row in self.rows.values() if row.status in statuses]

    def next_tag(self, kind: str, weight: float) -> float:
        tag = max(self.virtual_time, self.last_tags.get(kind, 0)) + 1 / weight
        self.last_tags[kind] = tag
        return tag

    def is_paused(self) -> bool:
        return self.paused_until is not None and self.now < self.paused_until

    def claim(self, worker: str, capacity: int) -> list[Row]:
        """Bury what has crashed too often; take the rows that a claim must, in order."""
        running = self.having(Status.RUNNING)
        ended = [row for row in running if row.lease_has_ended(self.now)]
        for row in ended:
            if row.claims >= MAX_CLAIMS:
                row.leave(Status.DEAD, dead_reason="crashed")
        if self.is_paused():
            return []
        lost = [row for row in ended if row.status == Status.RUNNING]
        lost.sort(key=lambda row: row.pk)
        ready = sorted(self.having(Status.QUEUED), key=lambda row: (row.fair_tag, row.pk))
        room = min(capacity, LIMIT - (len(running) - len(ended)))
        taken = [*lost, *ready][: max(room, 0)]
        for row in taken:
            if row.status == Status.QUEUED:
                self.virtual_time = max(self.virtual_time, row.fair_tag)
            row.take(worker, self.now)
        return taken

    def settle(self, row: "Row", outcome: Outcome) -> None:
        row.settle(outcome, self.now)
        if isinstance(outcome, PutBack) and outcome.blames_lane:
            row.fair_tag = max(row.fair_tag, self.virtual_time) + 1.5

    def queue_again(self, due: list["Row"], weights: dict[str, float]) -> None:
        """Let each flow's due ones, here a kind's, take turns from now on."""
        flows: defaultdict[str, list[Row]] = defaultdict(list)
        for row in sorted(due, key=lambda row: (row.fair_tag, row.pk)):
            flows[row.kind].append(row)
            turn = len(flows[row.kind]) / weights[row.kind]
            row.fair_tag = max(row.fair_tag, self.virtual_time + turn)
            row.leave(Status.QUEUED)

    def remembers(self, key: str) -> bool:
        return key in self.accepted and self.now < self.accepted[key] + KEY_LIFETIME

    def accept(self, row: Row, key: str) -> None:
        """Let the provider mail it, unless it remembers that it has."""
        if not self.remembers(key):
            self.accepted[key] = self.now
            row.mails += 1
