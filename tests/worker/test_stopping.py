"""Stopping: what runs is finished, nothing stays leased, nothing is left behind."""

import threading
from datetime import timedelta

import pytest
from django.db import connections

from deliveries import ledger, presence
from deliveries.models import Delivery, Message, WorkerPresence
from deliveries.providers import Receipt
from deliveries.providers.sandbox import SandboxProvider
from tests.worker.conftest import Request, Start, Work
from tests.worker.stage import (
    FakeProvider,
    Gate,
    another_connection,
    eventually,
    is_sent,
    make_worker,
    status,
)


def statuses() -> dict[str, int]:
    found: dict[str, int] = {}
    for each in Delivery.objects.values_list("status", flat=True):
        found[each] = found.get(each, 0) + 1
    return found


def test_a_stopped_worker_finishes_what_runs_and_claims_no_more(
    start: Start, request_delivery: Request
) -> None:
    for _ in range(5):
        request_delivery()
    gate = Gate()
    running = start(FakeProvider(gate), threads=2)
    gate.await_entry()
    gate.await_entry()
    running.worker.stop()
    gate.opened.set()
    running.join()
    assert statuses() == {"sent": 2, "queued": 3}


def test_the_presence_goes_last(
    start: Start, waiting: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    provider = FakeProvider(gate)
    running = start(provider, threads=1)
    gate.await_entry()
    at_farewell: list[tuple[str, int, bool]] = []
    farewell = presence.farewell

    def watched(name: str) -> None:
        alone = not [t for t in threading.enumerate() if t.name in {"listener", "w1-1"}]
        at_farewell.append((status(waiting), provider.closed, alone))
        farewell(name)

    monkeypatch.setattr(presence, "farewell", watched)
    running.worker.stop()
    assert WorkerPresence.objects.count() == 1
    gate.opened.set()
    running.join()
    assert at_farewell == [("sent", 1, True)]
    assert not WorkerPresence.objects.exists()


@pytest.mark.thorough
def test_a_drain_with_work_that_never_ends_is_given_up(start: Start, waiting: Delivery) -> None:
    gate = Gate()
    running = start(FakeProvider(gate), threads=1, lease=0.3, send_timeout=0.1)
    gate.await_entry()
    running.stop()
    assert status(waiting) == "running"  # Its lease brings it back.
    gate.opened.set()


def test_a_worker_that_is_stopped_before_it_starts_does_nothing(waiting: Delivery) -> None:
    worker = make_worker(provider := FakeProvider())
    worker.stop()
    worker.run()
    assert (status(waiting), provider.keys) == ("queued", [])


def test_once_ends_when_nothing_is_due(work: Work, request_delivery: Request) -> None:
    wanted = [request_delivery() for _ in range(7)]
    work(FakeProvider(), threads=2)
    assert all(is_sent(delivery) for delivery in wanted)
    work(FakeProvider())


def test_once_does_not_wait_for_a_paused_lane(work: Work, waiting: Delivery) -> None:
    ledger.pause("email", reason="because", for_=timedelta(hours=1))
    work(FakeProvider())
    assert status(waiting) == "queued"


def test_once_without_a_lane_ends_at_once(work: Work, transactional_db: None) -> None:
    work(FakeProvider())


def test_once_can_be_stopped(transactional_db: None, request_delivery: Request) -> None:
    for _ in range(3):
        request_delivery()

    def stop_in_the_middle(message: Message, key: str) -> Receipt:
        worker.stop()
        return Receipt(id="msg_1")

    worker = make_worker(FakeProvider(stop_in_the_middle), threads=1)
    worker.run(once=True)
    assert statuses() == {"sent": 1, "queued": 2}


def backends() -> int:
    with another_connection("postgres") as other:
        [(count,)] = other.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s",
            [connections["default"].settings_dict["NAME"]],
        ).fetchall()
    return int(count)


@pytest.mark.thorough
def test_after_a_run_no_thread_and_no_connection_is_left(
    start: Start, provider: SandboxProvider, request_delivery: Request
) -> None:
    wanted = [request_delivery() for _ in range(6)]
    connections.close_all()
    threads, connected = set(threading.enumerate()), backends()
    running = start(provider, threads=3)
    eventually(lambda: all(is_sent(delivery) for delivery in wanted))
    running.stop()
    connections.close_all()
    # The sandbox keeps a thread for each connection until it notices that we have left.
    eventually(lambda: set(threading.enumerate()) <= threads)
    eventually(lambda: backends() == connected)


def test_two_workers_run_one_after_the_other_with_one_provider(
    start: Start, provider: SandboxProvider, request_delivery: Request
) -> None:
    for _ in range(2):
        delivery = request_delivery()
        running = start(provider)
        eventually(lambda delivery=delivery: is_sent(delivery))  # type: ignore[misc]
        running.stop()


@pytest.mark.parametrize("moment", [0, 1, 4])
@pytest.mark.thorough
def test_a_stop_at_any_moment_leaves_nothing_leased(
    start: Start, provider: SandboxProvider, request_delivery: Request, moment: int
) -> None:
    wanted = [request_delivery() for _ in range(8)]
    running = start(provider, threads=2)
    eventually(lambda: sum(is_sent(delivery) for delivery in wanted) >= moment)
    running.stop()
    assert set(statuses()) <= {"sent", "queued"}
