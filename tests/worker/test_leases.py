"""Who holds a row may send it; who has lost it records nothing."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F, Q
from django.db.models.functions import Now

from deliveries import ledger, presence
from deliveries.ledger import Claim
from deliveries.models import Delivery, DeliveryEvent, Message
from deliveries.outcomes import Sent
from deliveries.providers import Receipt
from invoices.emails import InvoiceEmail
from tests.worker.conftest import Request, Start
from tests.worker.stage import (
    FakeProvider,
    Gate,
    another_connection,
    change,
    count_cycles,
    events,
    eventually,
    is_sent,
    now,
    status,
)

T = DeliveryEvent.Type


def expire(delivery: Delivery) -> None:
    """Let the lease end, as if its worker had been away for longer."""
    change(delivery, locked_until=Now() - timedelta(seconds=1))


def claim_as(worker: str) -> list[Claim]:
    return ledger.claim(
        "email", worker=worker, capacity=5, lease=timedelta(seconds=60), max_claims=3
    )


def test_leases_are_renewed_under_the_lanes_lock(
    start: Start, waiting: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a claim beside it would not count a lease that had just run out, and take one more."""
    renew, locked = ledger.extend, []

    def extend(claims: list[Claim], *, lease: timedelta) -> list[Claim]:
        with another_connection() as other:
            lane = "SELECT FROM deliveries_lane WHERE name = 'email' FOR UPDATE SKIP LOCKED"
            locked.append(other.execute(lane).fetchone() is None)
        return renew(claims, lease=lease)

    monkeypatch.setattr(ledger, "extend", extend)
    gate = Gate("id")
    start(FakeProvider(gate), lease=1.0, send_timeout=0.5)
    gate.await_entry()
    eventually(lambda: locked)
    gate.opened.set()
    eventually(lambda: is_sent(waiting))
    assert all(locked)


def test_a_worker_that_lost_its_lease_records_nothing(
    start: Start, waiting: Delivery, request_delivery: Request
) -> None:
    gate = Gate("from the old worker")
    start(provider := FakeProvider(gate), threads=1)
    gate.await_entry()
    expire(waiting)
    [claim] = claim_as("another")
    ledger.settle(claim, Sent(provider_message_id="from the new worker"), worker="another")
    gate.opened.set()
    eventually(lambda: len(provider.keys) == 1)
    later = request_delivery()
    eventually(lambda: is_sent(later))
    assert now(waiting).provider_message_id == "from the new worker"
    assert events(waiting) == [T.REQUESTED, T.LEASE_LOST, T.SENT]


def test_a_worker_that_lost_its_lease_before_the_hand_over_sends_nothing(
    start: Start, waiting: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = InvoiceEmail.compose
    taken: list[Claim] = []

    def robbed_while_composing(self: InvoiceEmail, delivery: Delivery) -> Message:
        expire(delivery)
        taken.extend(claim_as("another"))
        return compose(self, delivery)

    monkeypatch.setattr(InvoiceEmail, "compose", robbed_while_composing)
    running = start(provider := FakeProvider(), threads=1)
    eventually(lambda: taken and not running.worker._in_flight)
    assert (provider.keys, Message.objects.count()) == ([], 0)
    assert now(waiting).locked_by == "another"


@pytest.mark.thorough
def test_a_worker_that_takes_its_own_lost_row_again_keeps_both_attempts_apart(
    start: Start, waiting: Delivery, request_delivery: Request
) -> None:
    first = Gate("msg_1")
    calls = iter([first])

    def send(message: Message, key: str) -> Receipt:
        gate = next(calls, None)
        return gate(message, key) if gate else Receipt(id="msg_1", replayed=True)

    running = start(provider := FakeProvider(send), threads=2)
    first.await_entry()
    expire(waiting)
    eventually(lambda: is_sent(waiting))
    assert provider.keys == [waiting.idempotency_key] * 2
    first.opened.set()
    eventually(lambda: not running.worker._in_flight)
    later = [request_delivery() for _ in range(4)]
    eventually(lambda: all(is_sent(delivery) for delivery in later))
    assert events(waiting) == [T.REQUESTED, T.LEASE_LOST, T.SENT]


def test_the_older_attempt_may_report_first(start: Start, waiting: Delivery) -> None:
    first, second = Gate("msg_1"), Gate("msg_1")
    calls = iter([first, second])

    def send(message: Message, key: str) -> Receipt:
        return next(calls)(message, key)

    running = start(FakeProvider(send), threads=2)
    first.await_entry()
    expire(waiting)
    second.await_entry()
    first.opened.set()
    eventually(lambda: len(running.worker._in_flight) == 1)
    assert status(waiting) == "running"
    second.opened.set()
    eventually(lambda: is_sent(waiting))
    running.stop()


def running_rows() -> int:
    return Delivery.objects.filter(status="running").count()


@pytest.mark.thorough
def test_a_worker_never_leases_more_than_it_has_idle_threads(
    start: Start, request_delivery: Request
) -> None:
    wanted = [request_delivery() for _ in range(8)]
    most = 0

    def send(message: Message, key: str) -> Receipt:
        nonlocal most
        most = max(most, running_rows())
        connection.close()
        return Receipt(id="msg_1")

    start(FakeProvider(send), threads=2)
    eventually(lambda: all(is_sent(delivery) for delivery in wanted))
    assert 1 <= most <= 2


def test_a_busy_worker_leases_nothing_more(start: Start, request_delivery: Request) -> None:
    wanted = [request_delivery() for _ in range(5)]
    gate = Gate()
    running = start(FakeProvider(gate), threads=2)
    gate.await_entry()
    gate.await_entry()
    cycles = count_cycles(running)
    eventually(lambda: len(cycles) >= 3)
    assert running_rows() == 2
    gate.opened.set()
    eventually(lambda: all(is_sent(delivery) for delivery in wanted))


@pytest.mark.thorough
def test_a_lease_is_renewed_for_as_long_as_the_attempt_takes_however_seldom_it_polls(
    start: Start, waiting: Delivery
) -> None:
    pause = threading.Event()

    def send(message: Message, key: str) -> Receipt:
        pause.wait(1.2)
        return Receipt(id="msg_1")

    start(FakeProvider(send), threads=1, lease=1.0, send_timeout=0.5, poll=30.0)
    eventually(lambda: status(waiting) == "running")
    ends: set[object] = set()
    while status(waiting) == "running":
        ends.add(now(waiting).locked_until)
        assert claim_as("thief") == []
        pause.wait(0.05)
    assert len(ends) >= 3
    assert events(waiting) == [T.REQUESTED, T.SENT]


def test_a_worker_beats_however_seldom_it_polls(
    start: Start, waiting: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "BEAT_EVERY", timedelta(milliseconds=50))
    beats: list[int] = []
    beat = presence.beat

    def counted(name: str, *, threads: int, in_flight: int) -> None:
        beats.append(in_flight)
        beat(name, threads=threads, in_flight=in_flight)

    monkeypatch.setattr(presence, "beat", counted)
    start(FakeProvider(), poll=30.0)
    eventually(lambda: len(beats) >= 4)


@pytest.mark.thorough
def test_past_its_hard_deadline_an_attempt_loses_its_lease_and_its_thread_is_replaced(
    start: Start, waiting: Delivery, request_delivery: Request, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    first = waiting.idempotency_key

    def send(message: Message, key: str) -> Receipt:
        return gate(message, key) if key == first else Receipt(id="msg_2")

    start(FakeProvider(send), name="pool", threads=1, lease=0.4, send_timeout=0.2, max_claims=1)
    gate.await_entry()
    other = request_delivery()
    eventually(lambda: is_sent(other))
    eventually(lambda: status(waiting) == "dead")
    assert now(waiting).dead_reason == "crashed"
    assert [r.message for r in caplog.records if r.levelname == "ERROR"] == [
        "attempt overran its deadline; its lease ends",
        "delivery dead",
    ]
    # It comes back after all: too late to count, and its thread is one too many.
    assert len(pool_threads("pool")) == 2
    gate.opened.set()
    eventually(lambda: len(pool_threads("pool")) == 1)
    later = request_delivery()
    eventually(lambda: is_sent(later))
    assert status(waiting) == "dead"


def pool_threads(name: str) -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith(f"{name}-")]


def test_a_jump_of_the_hosts_clock_changes_nothing(
    start: Start, waiting: Delivery, request_delivery: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    start(FakeProvider(gate), threads=1, poll=0.05)
    gate.await_entry()
    real = time.time
    for years in (10, -10):
        monkeypatch.setattr(time, "time", lambda years=years: real() + years * 365 * 86400)
        assert claim_as("thief") == []
    gate.opened.set()
    later = request_delivery()
    eventually(lambda: is_sent(waiting) and is_sent(later))
    assert events(waiting) == [T.REQUESTED, T.SENT]
    assert not Delivery.objects.filter(
        Q(sent_at__lt=F("created_at")) | Q(sent_at__gt=Now())
    ).exists()
