"""The worker: a dispatcher that claims and settles, and threads that hand over.

claim → compose → hand over → settle. The dispatcher runs in the thread that calls `run` and is
the only one that claims and settles, in one transaction where both are due. It never claims more
rows than it has idle threads, so no leased row waits for one.
"""

import logging
import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from django.db import close_old_connections, connection, transaction

from deliveries import correlation, lane_feedback, ledger, metrics, presence
from deliveries.attempt import Attempt, Report
from deliveries.backoff import Backoff
from deliveries.ledger import Claim
from deliveries.listening import Listener
from deliveries.outcomes import Sent
from deliveries.policy import Policy
from deliveries.pool import ThreadPool
from deliveries.providers import Provider, key_lifetime

logger = logging.getLogger(__name__)


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
        # An adapter knows best how long its provider remembers a key.
        remembered = key_lifetime(provider)
        if remembered is not None:
            policy = replace(policy, key_lifetime=min(policy.key_lifetime, remembered))
        self._policy = policy
        self._threads = threads
        self._lane = lane
        self._chance = chance
        self._in_flight: dict[_Lease, _Running] = {}  # by `Claim.lease`
        # Reports of finished attempts, and None to wake the dispatcher. A SimpleQueue, because a
        # signal handler may put into it while this very thread waits on it.
        self._inbox: queue.SimpleQueue[Report | None] = queue.SimpleQueue()
        # Taken off the inbox but not yet recorded, should the database go away.
        self._unrecorded: list[Report] = []
        self._stopping = False
        self._renew_at = self._beat_at = self._due_at = 0.0
        self._drain_until: float | None = None
        self._trouble = Backoff()
        # The dispatcher reaches the database, its threads do not: too many connections, say.
        self._threads_trouble = Backoff()

    def run(self, *, once: bool = False) -> None:
        """Work until `stop`, then drain; with `once`, until nothing is due any more."""
        listener = Listener(self._lane, wake=self._wake)
        pool = ThreadPool(self._threads, name=self.name)
        try:
            if not once:
                listener.start()
            logger.info("worker started", extra={"worker": self.name, "threads": self._threads})
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

    def rest(self, seconds: float) -> None:
        """Wait so long, or until `stop`."""
        self._collect(seconds)

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    def _wake(self) -> None:
        self._inbox.put(None)

    def _loop(self, pool: ThreadPool, *, once: bool) -> None:
        while True:
            try:
                claimed = self._cycle(pool)
                self._trouble.clear()
                if once and not claimed and self._idle and not ledger.ready(self._lane):
                    return
            except Exception:
                # Whatever it is: keep what is known, reconnect and try again. Acknowledging on a
                # dead connection never ends, and a dispatcher that dies strands its threads.
                logger.exception("dispatcher trouble", extra={"worker": self.name})
                connection.close()
                self._trouble.grow()
            if self._stopping and (self._idle or self._drain_is_over()):
                return
            self._collect(self._trouble.seconds or self._seconds_until_next())

    @property
    def _idle(self) -> bool:
        return not self._in_flight and not self._unrecorded

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

    def _seconds_until_next(self) -> float:
        """Return when to poll, or to beat, renew or give up where that comes earlier."""
        moments = [self._beat_at]
        if self._in_flight:
            moments.append(self._renew_at)
        if self._drain_until is not None:
            moments.append(self._drain_until)
        left = min(moments) - time.monotonic()
        return max(0.0, min(left, self._policy.poll.total_seconds()))

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
        if moment >= self._renew_at:
            self._give_up_on_the_overdue(pool, moment)
            self._renew_leases()
            self._renew_at = moment + self._policy.lease.total_seconds() / 3
        claimed = self._settle_and_claim(moment)
        for claim in claimed:
            self._start(pool, claim)
        metrics.count_lost_leases(claimed)
        if moment >= self._beat_at:
            self._keep_house()
            self._beat_at = moment + presence.BEAT_EVERY.total_seconds()
        return len(claimed)

    def _keep_house(self) -> None:
        """Say that the worker is alive, and take up what could not be followed before.

        Comes last, and what is wrong with one row of it must not keep the others from being sent.
        """
        presence.beat(self.name, threads=self._threads, in_flight=len(self._in_flight))
        ledger.undoing_nothing(
            lambda: ledger.follow_up(self._lane), otherwise="kinds could not follow deliveries"
        )
        ledger.undoing_nothing(ledger.follow_up_reports, otherwise="reports could not be followed")

    def _settle_and_claim(self, moment: float) -> list[Claim]:
        reports = self._unrecorded
        idle = self._threads - len(self._unreported())
        claiming = idle > 0 and not self._stopping and self._threads_trouble.is_over(moment)
        if not reports and not claiming:
            return []
        due = claiming and moment >= self._due_at
        with transaction.atomic():
            ledger.lock_lane(self._lane)
            told = self._record(reports) if reports else metrics.NOTHING
            if due:
                ledger.wake_due(self._lane)
            claimed = self._claim(idle) if claiming else []
        self._unrecorded = []
        if due:
            self._due_at = moment + min(self._policy.poll.total_seconds(), 0.5)
        self._forget(reports, moment)
        metrics.observe(told)
        return claimed

    def _claim(self, idle: int) -> list[Claim]:
        return ledger.claim(
            self._lane,
            worker=self.name,
            capacity=idle,
            lease=self._policy.lease,
            max_claims=self._policy.max_claims,
        )

    def _record(self, reports: list[Report]) -> metrics.Settled:
        lane_feedback.tell(self._lane, reports, provider=self._provider)
        lost = ledger.settle_batch(
            [(r.claim, r.outcome) for r in reports if r.outcome is not None], worker=self.name
        )
        accepted = [r.claim for r in reports if isinstance(r.outcome, Sent)]
        return metrics.Settled(
            reports=reports, lost=lost, seconds_to_send=ledger.seconds_to_send(accepted)
        )

    def _forget(self, reports: list[Report], moment: float) -> None:
        """Let go of attempts whose outcomes are recorded."""
        for report in reports:
            # An attempt that was given up has been let go of before.
            self._in_flight.pop(report.claim.lease, None)
        if any(report.database_gone for report in reports):
            self._threads_trouble.grow(moment)
        elif reports:
            self._threads_trouble.clear()

    def _start(self, pool: ThreadPool, claim: Claim) -> None:
        running = _Running(claim, deadline=time.monotonic() + self._hard_limit_seconds)
        self._in_flight[claim.lease] = running
        pool.submit(lambda: self._attempt(running))

    def _attempt(self, running: "_Running") -> None:
        """Run in a pool thread: one attempt and its report."""
        claim, running.thread = running.claim, threading.current_thread()
        with correlation.bound(**claim.log_fields, worker=self.name):
            logger.info("attempt started", extra={"attempt": claim.attempts + 1})
            report = Attempt(
                claim, provider=self._provider, policy=self._policy, chance=self._chance
            ).run()
        self._inbox.put(report)

    def _unreported(self) -> dict["_Lease", "_Running"]:
        """Return the attempts that threads have in hand."""
        reported = {report.claim.lease for report in self._unrecorded}
        return {lease: r for lease, r in self._in_flight.items() if lease not in reported}

    def _give_up_on_the_overdue(self, pool: ThreadPool, moment: float) -> None:
        """Let the leases of attempts past their hard deadline end, and replace their threads.

        Otherwise a message that hangs in composing would take a thread for good at every claim.
        Should one come back after all: it reports, and its outcome counts if its lease still does.
        """
        for lease, running in self._unreported().items():
            if moment >= running.deadline:
                logger.error(
                    "attempt overran its deadline; its lease ends", extra=running.claim.log_fields
                )
                del self._in_flight[lease]
                pool.replace(running.thread)

    def _renew_leases(self) -> None:
        kept = [running for running in self._unreported().values() if not running.lost]
        if not kept:
            return
        with transaction.atomic():
            ledger.lock_lane(self._lane)
            lost = ledger.extend([running.claim for running in kept], lease=self._policy.lease)
        for running in kept:
            if running.claim in lost:
                running.lost = True
                logger.warning("lease lost while running", extra=running.claim.log_fields)

    def _say_farewell(self) -> None:
        try:
            presence.farewell(self.name)
        except Exception:  # noqa: BLE001 - the row says by its age that nobody is there
            logger.warning("could not take the worker's presence away", extra={"worker": self.name})


_Lease = tuple[int, int]


class _Running:
    """An attempt that a thread has in hand."""

    def __init__(self, claim: Claim, *, deadline: float) -> None:
        self.claim = claim
        self.deadline = deadline
        self.thread: threading.Thread | None = None
        self.lost = False
