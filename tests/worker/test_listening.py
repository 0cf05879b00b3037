"""Hearing at once that there is work; polling where nothing is heard."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection

from deliveries import listening, presence
from deliveries.ledger import CHANNEL
from deliveries.listening import Listener
from tests.worker.conftest import Request, Start
from tests.worker.stage import (
    FakeProvider,
    another_connection,
    eventually,
    is_sent,
    listening_backends,
    terminate_backends,
)

pytestmark = pytest.mark.thorough


@pytest.fixture(autouse=True)
def listens_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_RETRY_SECONDS", 0.1)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the heartbeat from waking the worker, so that only a notice or a poll does."""
    monkeypatch.setattr(presence, "BEAT_EVERY", timedelta(seconds=60))


@pytest.mark.usefixtures("patient")
def test_a_notice_wakes_an_idle_worker_long_before_it_polls(
    start: Start, request_delivery: Request
) -> None:
    start(FakeProvider(), poll=30.0)
    eventually(listening_backends)
    started = time.monotonic()
    for _ in range(3):
        delivery = request_delivery()
        eventually(lambda delivery=delivery: is_sent(delivery))  # type: ignore[misc]
    assert time.monotonic() - started < 15


def test_a_listener_that_was_cut_off_listens_again_and_polling_finds_the_work_meanwhile(
    start: Start, request_delivery: Request
) -> None:
    start(FakeProvider())
    eventually(listening_backends)
    [dead] = listening_backends()
    assert terminate_backends(like="LISTEN%") == 1
    delivery = request_delivery()
    eventually(lambda: is_sent(delivery))
    eventually(listening_backends)
    assert listening_backends() != [dead]


@pytest.mark.usefixtures("patient")
def test_what_was_requested_while_nobody_listened_is_found_on_listening_again(
    start: Start, request_delivery: Request
) -> None:
    start(FakeProvider(), poll=30.0)
    eventually(listening_backends)
    terminate_backends(like="LISTEN%")
    delivery = request_delivery()
    eventually(lambda: is_sent(delivery))


def test_a_deaf_worker_polls(
    start: Start, request_delivery: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Listener, "_listen", lambda self, alias: self._halted.wait())
    start(FakeProvider())
    delivery = request_delivery()
    eventually(lambda: is_sent(delivery))


@pytest.fixture
def heard() -> list[float]:
    return []


@pytest.fixture
def listener(transactional_db: None, heard: list[float]) -> Iterator[Listener]:
    thread = Listener("email", wake=lambda: heard.append(time.monotonic()))
    thread.start()
    eventually(listening_backends)
    eventually(lambda: heard)
    heard.clear()
    yield thread
    if thread.is_alive():
        thread.stop()
    assert not thread.is_alive()


def notify(*lanes: str) -> None:
    with connection.cursor() as cursor:
        for lane in lanes:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, lane])


@pytest.mark.usefixtures("listener")
def test_only_notices_of_its_lane_wake(heard: list[float]) -> None:
    notify("webhooks", "", "email")
    eventually(lambda: heard)
    assert len(heard) == 1


@pytest.mark.usefixtures("listener")
def test_a_burst_of_notices_is_heard(heard: list[float]) -> None:
    for burst in range(1, 4):
        notify(*["email"] * 500)
        eventually(lambda burst=burst: len(heard) >= burst)  # type: ignore[misc]


def test_a_listener_stops_at_once_and_leaves_no_connection(listener: Listener) -> None:
    started = time.monotonic()
    listener.stop()
    assert time.monotonic() - started < 1
    assert not listener.is_alive()
    eventually(lambda: not listening_backends())


def test_a_listener_that_never_started_can_be_stopped() -> None:
    Listener("email", wake=lambda: None).stop()


def test_whatever_befalls_a_listener_it_tries_again_and_complains_once(
    listener: Listener,
    heard: list[float],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = iter([OSError("no such file"), ValueError("nonsense"), RuntimeError("why not")])
    listen = listener._listen

    def fails(alias: str) -> None:
        if failure := next(failures, None):
            raise failure
        listen(alias)

    monkeypatch.setattr(listener, "_listen", fails)
    terminate_backends(like="LISTEN%")
    eventually(listening_backends)
    eventually(lambda: heard)
    assert len([r for r in caplog.records if r.message.startswith("not listening")]) == 1


def test_a_listener_in_a_long_silence_asks_whether_the_other_side_lives(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_PROBE_SECONDS", 0.05)
    notify("webhooks")  # Ends the wait under way.

    def asked() -> bool:
        with another_connection("postgres") as other:
            found = other.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND query = 'SELECT 1'"
                " AND pid <> pg_backend_pid()",
                [connection.settings_dict["NAME"]],
            ).fetchone()
        return bool(found and found[0])

    connection.close()
    eventually(asked)
    assert listener.is_alive()
    assert threading.active_count() >= 2
