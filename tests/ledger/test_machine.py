"""Any sequence of steps by any number of workers and people, against the model in memory."""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from deliveries import kinds, ledger, retry
from deliveries.errors import (
    ConfirmationNeeded,
    LeaseLost,
    OutcomeUnknown,
    PermanentFailure,
    TemporaryFailure,
    Throttled,
    WrongState,
)
from deliveries.ledger import LeaseTooShort
from deliveries.models import Delivery, Message
from deliveries.outcomes import Outcome, PutBack, Sent
from invoices.models import Invoice
from tests import factories
from tests.ledger.model import KEY_LIFETIME, LEASE, LIMIT, MAX_CLAIMS, NEEDS, Attempt, Model, Row
from tests.ledger.note import Note
from tests.ledger.steps import NOW, VOIDED, Status

P = ParamSpec("P")
T = TypeVar("T")

POLICY = factories.make_policy(max_attempts=3)
FATES = ["accepts", "accepts silently", "refuses", "is unreachable", "throttles"]
FAILURES = {
    "accepts silently": TemporaryFailure("no answer"),
    "is too late": TemporaryFailure("cut off"),
    "is unreachable": TemporaryFailure("not connected", may_have_accepted=False),
    "refuses": PermanentFailure("no such mailbox"),
    "throttles": Throttled("slow down"),
}
COLUMNS = (
    "pk",
    "status",
    "lease_token",
    "claims",
    "attempts",
    "locked_by",
    "locked_until",
    "next_attempt_at",
    "handed_over_at",
    "idempotency_key",
    "fair_tag",
    "dead_reason",
)

# Which of several candidates a step is about: mostly the newest.
picks = st.sampled_from([1, 1, 1, 2, 2, 3, 5, 8])
workers = st.sampled_from(["ada", "ben", "eve"])
fates = st.sampled_from(FATES)


# One strategy rather than a rule for each step: Hypothesis switches rules off at random, and
# without claims, say, nothing happens. What is likely in life is likely here.
steps = st.one_of(
    st.tuples(st.just("request"), st.sampled_from(["light", "heavy"]), st.integers(0, 2)),
    st.tuples(st.just("claim"), workers, st.integers(1, 3)),
    st.tuples(st.just("work"), workers, st.integers(1, 3), fates),
    st.tuples(st.just("work"), workers, st.integers(1, 3), fates),
    st.tuples(st.just("go_on"), picks, fates),
    st.tuples(st.just("go_on"), picks, fates),
    st.tuples(st.just("do_not_begin"), picks, st.sampled_from([PutBack(why="stopping"), VOIDED])),
    st.tuples(st.just("extend"), picks),
    st.tuples(st.just("wait"), st.sampled_from([1, 10, 41, 60, 61, 3600])),
    st.tuples(st.just("wait"), st.sampled_from([1, 10, 41, 60, 61, 3600])),
    st.tuples(st.just("replay"), picks, st.booleans()),
    st.tuples(st.just("cancel"), picks),
    st.tuples(st.just("pause_or_resume")),
)


def pick(candidates: Sequence[T], place: int) -> T:
    return candidates[-1 - (place - 1) % len(candidates)]


def raised(step: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Exception | None:
    """Return what the step raises of the ledger's own errors."""
    try:
        step(*args, **kwargs)
    except (ConfirmationNeeded, LeaseLost, LeaseTooShort, OutcomeUnknown, WrongState) as error:
        return error
    return None


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self, invoice: Invoice, known: list[Note], support: int) -> None:
        super().__init__()
        # Each example starts clean: what the one before wrote is rolled back.
        self.savepoint = transaction.savepoint()
        self.invoice, self.support = invoice, support
        self.kinds = {kind.name: kind for kind in known}
        self.model = Model(NOW)
        self.attempts: list[Attempt] = []
        self.intents: dict[str, int] = {}
        ledger.configure("email", limit=LIMIT, rate_per_second=None)

    def teardown(self) -> None:
        transaction.savepoint_rollback(self.savepoint)

    # What programs and people do ----------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        for number in range(2):
            self.request("light", number)
            self.request("heavy", number)

    @rule(step=steps)
    def do(self, step: tuple[str, *tuple[Any, ...]]) -> None:
        name, *arguments = step
        getattr(self, name)(*arguments)

    def request(self, kind: str, number: int) -> None:
        requested, created = ledger.request(
            self.invoice,
            kind=self.kinds[kind],
            dedupe_key=f"{kind}:{number}",
            reference="INV-0001",
            now=self.model.now,
        )
        assert created == (requested.dedupe_key not in self.intents)
        assert self.intents.setdefault(requested.dedupe_key, requested.pk) == requested.pk
        if created:
            tag = self.model.next_tag(kind, self.kinds[kind].weight)
            row = Row(requested.pk, kind, tag, requested.idempotency_key)
            self.model.rows[requested.pk] = row

    def claim(self, worker: str, capacity: int) -> None:
        expected = self.model.claim(worker, capacity)
        claims = ledger.claim(
            "email",
            worker=worker,
            capacity=capacity,
            lease=LEASE,
            max_claims=MAX_CLAIMS,
            now=self.model.now,
        )
        assert [
            (each.delivery_id, each.token, each.claims, each.idempotency_key) for each in claims
        ] == [(row.pk, row.lease_token, row.claims, row.idempotency_key) for row in expected]
        self.attempts += map(Attempt, claims)

    def work(self, worker: str, capacity: int, fate: str) -> None:
        """Claim, hand over, settle: what a worker does when nothing goes wrong on our side."""
        before = len(self.attempts)
        self.claim(worker, capacity)
        for attempt in self.attempts[before:]:
            self.hand_over(attempt)
            if attempt.outcome is None:
                self.answer(attempt, fate)
            self.settle(attempt)

    def go_on(self, place: int, fate: str) -> None:
        """Do the next step of an attempt, in time or late; record its outcome a second time."""
        if not self.attempts:
            return
        attempt = pick(self.attempts, place)
        if attempt.outcome is not None:
            self.settle(attempt)
        elif attempt.in_the_air_until is not None:
            self.answer(attempt, fate)
        else:
            self.hand_over(attempt)

    def do_not_begin(self, place: int, outcome: Outcome) -> None:
        if not self.not_begun():
            return
        attempt = pick(self.not_begun(), place)
        attempt.outcome = outcome
        self.settle(attempt)

    def extend(self, place: int) -> None:
        if not self.attempts:
            return
        attempt = pick(self.attempts, place)
        row, holds = self.model.row(attempt), self.model.holds(attempt)
        lost = ledger.extend([attempt.claim], lease=LEASE, now=self.model.now)
        assert lost == ([] if holds else [attempt.claim])
        if holds:
            row.locked_until = self.model.now + LEASE

    def wait(self, seconds: int) -> None:
        self.model.now += timedelta(seconds=seconds)
        due = [row for row in self.model.rows.values() if row.is_due(self.model.now)]
        assert ledger.wake_due("email", now=self.model.now) == len(due)
        self.model.queue_again(due, {name: k.weight for name, k in self.kinds.items()})

    def replay(self, place: int, confirmed: bool) -> None:
        finished = self.model.having(Status.SENT, Status.DEAD)
        if not finished:
            return
        row = pick(finished, place)
        expired = row.key_has_expired(self.model.now)
        error = raised(
            ledger.replay,
            row.pk,
            actor_id=self.support,
            reason="looked into it",
            key_lifetime=KEY_LIFETIME,
            confirmed=confirmed,
            now=self.model.now,
        )
        if row.status == Status.SENT:
            assert isinstance(error, WrongState)
        elif expired and not confirmed:
            assert isinstance(error, ConfirmationNeeded)
        else:
            assert error is None
            self.put_back(row, expired=expired)

    def cancel(self, place: int) -> None:
        begun = [row for row in self.model.rows.values() if row.lease_token]
        if not begun:
            return
        row = pick(begun, place)
        error = raised(
            ledger.cancel,
            row.pk,
            actor_id=self.support,
            why="sent by post",
            now=self.model.now,
        )
        if row.status in {Status.RUNNING, Status.SENT, Status.CANCELLED}:
            assert isinstance(error, WrongState)
        else:
            assert error is None
            row.leave(Status.CANCELLED)

    def pause_or_resume(self) -> None:
        if self.model.is_paused():
            assert ledger.resume("email", reason="The key is right again.")
            self.model.paused_until = None
            return
        length = timedelta(seconds=30)
        ledger.pause("email", reason="Too many requests.", for_=length, now=self.model.now)
        self.model.paused_until = self.model.now + length

    # What must hold whatever they do ------------------------------------------------------------

    @invariant()
    def the_ledger_holds_what_the_model_says(self) -> None:
        written = set(Delivery.objects.values_list(*COLUMNS))
        expected = {
            tuple(getattr(row, name) for name in COLUMNS) for row in self.model.rows.values()
        }
        assert written == expected

    @invariant()
    def the_fleet_never_holds_more_than_the_limit(self) -> None:
        assert len(self.model.having(Status.RUNNING)) <= LIMIT

    @invariant()
    def nobody_gets_it_more_often_than_a_person_said(self) -> None:
        assert all(row.mails <= row.mails_allowed for row in self.model.rows.values())

    @invariant()
    def sent_means_that_the_provider_accepted_it(self) -> None:
        assert all(
            row.mails and row.idempotency_key in self.model.accepted
            for row in self.model.having(Status.SENT)
        )

    # The steps of an attempt --------------------------------------------------------------------

    def hand_over(self, attempt: Attempt) -> None:
        """Begin a hand-over: the message is in the air until the provider answers."""
        row, claim = self.model.row(attempt), attempt.claim
        stored = Message.objects.filter(idempotency_key=claim.idempotency_key).first()
        expected = self.refusal(attempt)
        error = raised(
            ledger.begin_hand_over,
            claim,
            stored or factories.make_message(),
            needs=NEEDS,
            key_lifetime=KEY_LIFETIME,
            now=self.model.now,
        )
        assert type(error) is expected
        if error is None:
            attempt.in_the_air_until = self.model.now + NEEDS
            row.handed_over_at = row.handed_over_at or self.model.now
        elif isinstance(error, LeaseTooShort):
            attempt.outcome = PutBack(why=str(error), may_have_accepted=attempt.handed_over_before)
        else:
            attempt.outcome = self.decide(attempt, error)

    def answer(self, attempt: Attempt, fate: str) -> None:
        """Let the provider do something about a message in the air."""
        key, until = attempt.claim.idempotency_key, attempt.in_the_air_until
        if until and until < self.model.now:
            fate = "is too late"
        replayed = self.model.remembers(key)
        if fate in {"accepts", "accepts silently"}:
            self.model.accept(self.model.row(attempt), key)
        if fate == "accepts" or (fate == "refuses" and replayed):
            attempt.outcome = Sent(provider_message_id=f"msg-{key}", replayed=replayed)
        else:
            attempt.outcome = self.decide(attempt, FAILURES[fate])

    def settle(self, attempt: Attempt) -> None:
        assert attempt.outcome
        holds = self.model.holds(attempt)
        lost = ledger.settle_batch(
            [(attempt.claim, attempt.outcome)], worker="ada", now=self.model.now
        )
        assert lost == ([] if holds else [attempt.claim])
        if holds:
            self.model.settle(self.model.row(attempt), attempt.outcome)

    # Words for the above ------------------------------------------------------------------------

    def not_begun(self) -> list[Attempt]:
        return [a for a in self.attempts if a.in_the_air_until is None and a.outcome is None]

    def refusal(self, attempt: Attempt) -> type[Exception] | type[None]:
        row = self.model.row(attempt)
        if not self.model.holds(attempt):
            return LeaseLost
        if row.key_has_expired(self.model.now + NEEDS):
            return OutcomeUnknown
        short = row.locked_until and row.locked_until < self.model.now + NEEDS
        return LeaseTooShort if short else type(None)

    def decide(self, attempt: Attempt, failure: Exception) -> Outcome:
        return retry.decide(
            failure,
            attempts=attempt.claim.attempts,
            handed_over_before=attempt.handed_over_before,
            handed_over_now=attempt.in_the_air_until is not None,
            policy=POLICY,
            chance=0,
        )

    def put_back(self, row: Row, *, expired: bool) -> None:
        """Follow a replay; the key is new unless the provider may have it and still knows it."""
        row.leave(Status.QUEUED)
        row.claims = row.attempts = 0
        row.fair_tag = self.model.next_tag(row.kind, self.kinds[row.kind].weight)
        if row.handed_over_at is None or expired:
            row.mails_allowed += expired
            row.handed_over_at = None
            [row.idempotency_key] = Delivery.objects.filter(pk=row.pk).values_list(
                "idempotency_key", flat=True
            )
            assert not Message.objects.filter(idempotency_key=row.idempotency_key).exists()


def run(
    invoice: Invoice, known: list[Note], support: User, *, examples: int, steps: int, same: bool
) -> None:
    run_state_machine_as_test(
        # Whatever makes a machine will do, although its annotation asks for the class.
        lambda: LedgerMachine(invoice, known, support.pk),  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=same,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture
def two_kinds(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> list[Note]:
    caplog.set_level(logging.CRITICAL, logger="deliveries")
    made = [Note("light"), Note("heavy", weight=4.0)]
    for kind in made:
        monkeypatch.setitem(kinds._kinds, kind.name, kind)
    return made


# A failure is worth the minutes that it takes to make it short.
@pytest.mark.timeout(900)
def test_any_sequence_of_steps_keeps_every_promise(
    invoice: Invoice, two_kinds: list[Note], support: User
) -> None:
    run(invoice, two_kinds, support, examples=10, steps=40, same=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_any_long_sequence_of_steps_keeps_every_promise(
    invoice: Invoice, two_kinds: list[Note], support: User
) -> None:
    run(invoice, two_kinds, support, examples=500, steps=80, same=False)
