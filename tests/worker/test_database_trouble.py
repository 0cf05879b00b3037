"""PostgreSQL goes away, for a moment or for long: nothing is lost, nothing goes out twice."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import Error, InterfaceError, OperationalError, connection, transaction

from deliveries import backoff, ledger
from deliveries.models import Delivery, DeliveryEvent, Message
from deliveries.providers import Receipt
from deliveries.providers.sandbox import SandboxProvider
from deliveries.sandbox import SandboxProvider as Sandbox
from invoicehub.rehearsal.waiting import wait_for
from invoices.emails import InvoiceEmail
from tests.worker.conftest import Request, Start
from tests.worker.stage import (
    PATIENCE_SECONDS,
    FakeProvider,
    Gate,
    another_connection,
    count_cycles,
    events,
    eventually,
    is_sent,
    now,
    status,
    terminate_backends,
)

T = DeliveryEvent.Type


@contextmanager
def database_away() -> Iterator[None]:
    """Let nobody in, and throw out who is there."""
    name = connection.settings_dict["NAME"]
    with another_connection("postgres") as other:
        other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        try:
            terminate_backends()
            yield
        finally:
            other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


@pytest.fixture
def short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait 0.1, 0.2, 0.2 … seconds in trouble, where 5 would be the most."""
    monkeypatch.setattr(backoff, "CAP_SECONDS", 0.2)


def test_connections_killed_between_send_and_settle_cost_no_second_email(
    sandbox: Sandbox, start: Start, waiting: Delivery
) -> None:
    real = SandboxProvider(sandbox.url, timeout_seconds=20)
    killed: queue.SimpleQueue[int] = queue.SimpleQueue()

    def send(message: Message, key: str) -> Receipt:
        receipt = real.send(message, idempotency_key=key)
        killed.put(terminate_backends())
        return receipt

    start(provider := FakeProvider(send))
    assert killed.get(timeout=PATIENCE_SECONDS) >= 2
    eventually(lambda: is_sent(waiting))
    real.close()
    assert len(provider.keys) == len(sandbox.messages()) == 1
    assert now(waiting).provider_message_id == sandbox.messages()[0]["id"]
    assert events(waiting) == [T.REQUESTED, T.SENT]


def test_an_outcome_is_kept_until_the_database_is_back(start: Start, waiting: Delivery) -> None:
    gate = Gate()
    running = start(provider := FakeProvider(gate), threads=1)
    gate.await_entry()
    with database_away():
        gate.opened.set()
        eventually(lambda: running.worker._unrecorded)
    eventually(lambda: is_sent(waiting))
    assert (len(provider.keys), now(waiting).attempts) == (1, 1)


@pytest.mark.usefixtures("short_backoff")
@pytest.mark.thorough
def test_a_worker_without_its_database_neither_ends_nor_spins(
    start: Start, request_delivery: Request
) -> None:
    running = start(FakeProvider(), poll=0.01)
    cycles = count_cycles(running)
    eventually(lambda: cycles)
    with database_away():
        cycles.clear()
        threading.Event().wait(0.6)
        assert 1 <= len(cycles) <= 6
    delivery = request_delivery()
    eventually(lambda: is_sent(delivery))


def test_a_worker_can_be_stopped_while_its_database_is_away(start: Start) -> None:
    running = start(FakeProvider())
    cycles = count_cycles(running)
    eventually(lambda: cycles)
    with database_away():
        running.stop()


def stand_still() -> None:
    """Let PostgreSQL end the transaction, as that of a process that was suspended."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [(pid,)] = cursor.fetchall()
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '1ms'")
        with another_connection() as other:
            backend = "SELECT FROM pg_stat_activity WHERE pid = %s"
            wait_for(lambda: not other.execute(backend, [pid]).fetchone(), "PostgreSQL ends it")


def be_terminated() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


@pytest.mark.parametrize("lose", [be_terminated, stand_still])
def test_a_database_that_goes_while_composing_burns_no_attempt(
    start: Start, waiting: Delivery, monkeypatch: pytest.MonkeyPatch, lose: Callable[[], None]
) -> None:
    compose = InvoiceEmail.compose
    losses = iter([True, True])

    def interrupted(self: InvoiceEmail, delivery: Delivery) -> Message:
        if next(losses, False):
            lose()
        return compose(self, delivery)

    monkeypatch.setattr(InvoiceEmail, "compose", interrupted)
    start(provider := FakeProvider(), threads=1)
    eventually(lambda: is_sent(waiting))
    assert (len(provider.keys), now(waiting).attempts) == (1, 1)
    assert events(waiting) == [T.REQUESTED, T.RELEASED, T.RELEASED, T.SENT]


@pytest.mark.usefixtures("short_backoff")
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
@pytest.mark.thorough
def test_threads_that_cannot_reach_the_database_do_not_make_the_worker_spin(
    start: Start, request_delivery: Request, monkeypatch: pytest.MonkeyPatch, error: type[Error]
) -> None:
    def no_connection(self: InvoiceEmail, delivery: Delivery) -> Message:
        connection.close()
        raise error("too many clients already")

    deliveries = [request_delivery() for _ in range(4)]
    with monkeypatch.context() as patch:
        patch.setattr(InvoiceEmail, "compose", no_connection)
        running = start(FakeProvider(), threads=2, poll=0.01)
        eventually(lambda: events(deliveries[0]).count(T.RELEASED) >= 1)
        threading.Event().wait(0.5)
        # Each time two threads; without holding back it would be some 70.
        assert DeliveryEvent.objects.filter(type=T.RELEASED).count() <= 2 * 6
    eventually(lambda: all(is_sent(delivery) for delivery in deliveries))
    assert running.thread.is_alive()


def test_a_query_that_fails_on_a_good_connection_is_a_fault_of_ours(
    start: Start, waiting: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deadlocked(self: InvoiceEmail, delivery: Delivery) -> Message:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 1; SELECT pg_sleep(10)")
        raise AssertionError

    monkeypatch.setattr(InvoiceEmail, "compose", deadlocked)
    start(FakeProvider(), backoff_base=60.0, backoff_cap=60.0)
    eventually(lambda: status(waiting) == "retrying")
    assert now(waiting).last_error.startswith("A fault in our own software: OperationalError")


@pytest.mark.parametrize(
    "error", [ValueError("unexpected"), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no")]
)
@pytest.mark.thorough
def test_a_dispatcher_that_stumbles_over_anything_goes_on(
    start: Start, waiting: Delivery, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    settle, failures = ledger.settle_batch, iter([error, error])

    def stumbles(settlements: list[object], *, worker: str) -> object:
        if settlements and (failure := next(failures, None)):
            raise failure
        return settle(settlements, worker=worker)  # type: ignore[arg-type]

    monkeypatch.setattr(ledger, "settle_batch", stumbles)
    start(provider := FakeProvider())
    eventually(lambda: is_sent(waiting))
    assert (len(provider.keys), now(waiting).attempts) == (1, 1)


@pytest.mark.thorough
def test_a_commit_of_which_no_answer_came_costs_no_second_email(
    start: Start, request_delivery: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = request_delivery(), request_delivery()
    settle = ledger.settle_batch
    losses = iter([True])

    def lose_the_answer() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    def settles(settlements: list[object], *, worker: str) -> object:
        lost = settle(settlements, worker=worker)  # type: ignore[arg-type]
        if len(settlements) > 0 and next(losses, False):
            # Runs when the commit is done: the dispatcher cannot know that it was.
            transaction.on_commit(lose_the_answer)
        return lost

    monkeypatch.setattr(ledger, "settle_batch", settles)
    start(provider := FakeProvider(), threads=1, lease=0.6, send_timeout=0.2)
    eventually(lambda: is_sent(first) and is_sent(second))
    assert sorted(provider.keys) == sorted([first.idempotency_key, second.idempotency_key])
