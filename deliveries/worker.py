"""The worker: a dispatcher that claims and settles, and threads that hand over.

claim → compose → hand over → settle. The dispatcher runs in the thread that calls `run` and is
the only one that claims and settles, in one transaction where both are due. It never claims more
rows than it has idle threads, so no leased row waits for one.
"""

import logging
import queue
import random
import time
from collections.abc import Callable
from datetime import timedelta

from django.db import Error, close_old_connections, connection, transaction

from deliveries import correlation, ledger, metrics, presence
from deliveries.attempt import Attempt, Report
from deliveries.errors import AccountProblem, TemporaryFailure, Throttled
from deliveries.ledger import Claim
from deliveries.listening import Listener
from deliveries.policy import Policy
from deliveries.pool import ThreadPool
from deliveries.providers import Provider

logger = logging.getLogger(__name__)

# How long a lane rests where the provider does not say: too many requests, a refused account.
THROTTLE_PAUSE = timedelta(seconds=5)
ACCOUNT_PAUSE = timedelta(seconds=60)
PAUSE_CAP = timedelta(hours=1)

RECONNECT_FIRST_SECONDS = 0.1
RECONNECT_CAP_SECONDS = 5.0


class Worker:
    """Works one lane until it is told to stop. Everything that a test may want is injected."""

    def __init__(
        self,
        *,
        provider: Provider,
        policy: Policy,
        name: str,
        threads: int,
        lane: str = "email",
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self._provider = provider
        self._policy = policy
        self._threads = threads
        self._lane = lane
        self._chance = chance
        self._in_flight: dict[int, _Running] = {}
        # Reports of finished attempts, and None to wake the dispatcher. A SimpleQueue, because a
        # signal handler may put into it while this very thread waits on it.
        self._inbox: queue.SimpleQueue[Report | None] = queue.SimpleQueue()
        # Taken off the inbox but not yet recorded, should the database go away.
        self._unrecorded: list[Report] = []
        self._stopping = False
        self._renew_at = self._beat_at = self._due_at = 0.0
        self._drain_until: float | None = None

    def run(self, *, once: bool = False) -> None:
        """Work until `stop`, then drain; with `once`, until nothing is due any more."""
        listener = Listener(self._lane, wake=self._wake)
        if not once:
            listener.start()
        logger.info("worker started", extra={"worker": self.name, "threads": self._threads})
        pool = ThreadPool(self._threads, name=self.name)
        try:
            self._loop(pool, once=once)
        finally:
            listener.stop()
            pool.close(seconds=1)
            self._provider.close()
        self._say_farewell()
        logger.info("worker stopped", extra={"worker": self.name})

    def stop(self) -> None:
        """Stop claiming; `run` returns when what runs has ended. Safe in a signal handler."""
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        self._inbox.put(None)

    def _loop(self, pool: ThreadPool, *, once: bool) -> None:
        trouble_seconds = 0.0
        while True:
            try:
                claimed = self._cycle(pool)
                trouble_seconds = 0.0
                if once and not claimed and self._idle and not ledger.ready(self._lane):
                    return
            except Error:
                # Keep what is known and reconnect: acknowledging on a dead connection never ends.
                logger.exception("database trouble", extra={"worker": self.name})
                connection.close()
                trouble_seconds = min(
                    max(trouble_seconds * 2, RECONNECT_FIRST_SECONDS), RECONNECT_CAP_SECONDS
                )
            if self._stopping and (self._idle or self._drain_is_over()):
                return
            self._collect(trouble_seconds or self._policy.poll.total_seconds())

    @property
    def _idle(self) -> bool:
        return not self._in_flight

    @property
    def _hard_limit_seconds(self) -> float:
        """Return how long an attempt may take in all, composing and handing over."""
        return (self._policy.send_timeout + self._policy.lease).total_seconds()

    def _drain_is_over(self) -> bool:
        """Tell whether a drain has taken longer than any attempt may."""
        now = time.monotonic()
        if self._drain_until is None:
            self._drain_until = now + self._hard_limit_seconds
        if now < self._drain_until:
            return False
        logger.error("drain given up; leases bring the work back", extra={"worker": self.name})
        return True

    def _collect(self, seconds: float) -> None:
        """Wait for a report or a call to wake, then take all that is there."""
        try:
            item = self._inbox.get(timeout=seconds)
            while True:
                if item is not None:
                    self._unrecorded.append(item)
                item = self._inbox.get_nowait()
        except queue.Empty:
            pass

    def _cycle(self, pool: ThreadPool) -> int:
        """Record what finished, keep what runs, claim what fits. Return how many were claimed."""
        close_old_connections()
        moment = time.monotonic()
        if moment >= self._beat_at:
            presence.beat(self.name, threads=self._threads, in_flight=len(self._in_flight))
            self._beat_at = moment + presence.BEAT_EVERY.total_seconds()
        if moment >= self._renew_at:
            self._renew_leases(moment)
            self._renew_at = moment + self._policy.lease.total_seconds() / 3
        claimed = self._settle_and_claim(moment)
        for claim in claimed:
            self._start(pool, claim)
        return len(claimed)

    def _settle_and_claim(self, moment: float) -> list[Claim]:
        idle = self._threads - len(self._in_flight) + len(self._unrecorded)
        claiming = idle > 0 and not self._stopping
        if not self._unrecorded and not claiming:
            return []
        due = claiming and moment >= self._due_at
        with transaction.atomic():
            ledger.lock_lane(self._lane)
            self._record_for_lane()
            ledger.settle_batch(
                [(r.claim, r.outcome) for r in self._unrecorded if r.outcome is not None],
                worker=self.name,
            )
            if due:
                ledger.wake_due(self._lane)
            claimed = self._claim(idle) if claiming else []
        for report in self._unrecorded:
            del self._in_flight[report.claim.delivery_id]
            metrics.observe(report)
        self._unrecorded.clear()
        if due:
            self._due_at = moment + min(self._policy.poll.total_seconds(), 0.5)
        return claimed

    def _claim(self, idle: int) -> list[Claim]:
        return ledger.claim(
            self._lane,
            worker=self.name,
            capacity=idle,
            lease=self._policy.lease,
            max_claims=self._policy.max_claims,
        )

    def _record_for_lane(self) -> None:
        """Tell the lane what this round says of the provider as a whole."""
        failures = [r.failure for r in self._unrecorded if r.failure is not None]
        for failure in failures:
            if isinstance(failure, Throttled):
                wait = failure.retry_after or THROTTLE_PAUSE
            elif isinstance(failure, AccountProblem):
                wait = failure.retry_after or ACCOUNT_PAUSE
            else:
                continue
            ledger.pause(
                self._lane,
                reason=str(failure),
                for_=max(min(wait, PAUSE_CAP), timedelta(seconds=1)),
            )
        ledger.record_results(
            self._lane,
            reached=any(r.reached_provider for r in self._unrecorded),
            failures=sum(
                isinstance(failure, TemporaryFailure) and failure.provider_down
                for failure in failures
            ),
        )

    def _start(self, pool: ThreadPool, claim: Claim) -> None:
        deadline = time.monotonic() + self._hard_limit_seconds
        self._in_flight[claim.delivery_id] = _Running(claim, deadline)
        pool.submit(lambda: self._attempt(claim))

    def _attempt(self, claim: Claim) -> None:
        """Run in a pool thread: one attempt, its report, and no connection left in a bad state."""
        with correlation.bound(**claim.log_fields, worker=self.name):
            logger.info("attempt started", extra={"attempt": claim.attempts + 1})
            close_old_connections()
            report = Attempt(
                claim, provider=self._provider, policy=self._policy, chance=self._chance
            ).run()
            close_old_connections()
        self._inbox.put(report)

    def _renew_leases(self, moment: float) -> None:
        """Extend the leases of what runs, but not of what has run past its hard deadline."""
        unreported = self._in_flight.keys() - {r.claim.delivery_id for r in self._unrecorded}
        kept = []
        for running in (self._in_flight[delivery_id] for delivery_id in sorted(unreported)):
            if moment < running.deadline:
                kept.append(running.claim)
            elif not running.overdue:
                running.overdue = True
                logger.error(
                    "attempt overran its deadline; its lease ends", extra=running.claim.log_fields
                )
        for lost in ledger.extend(kept, lease=self._policy.lease):
            logger.warning("lease lost while running", extra=self._in_flight[lost].claim.log_fields)

    def _say_farewell(self) -> None:
        try:
            presence.farewell(self.name)
        except Error:
            logger.warning("could not take the worker's presence away", extra={"worker": self.name})


class _Running:
    """An attempt that a thread has in hand."""

    def __init__(self, claim: Claim, deadline: float) -> None:
        self.claim = claim
        self.deadline = deadline
        self.overdue = False
