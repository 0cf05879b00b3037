"""The worker's threads."""

import queue
import threading
from collections.abc import Iterator

import pytest
from django.db import connection

from deliveries.pool import ThreadPool
from invoicehub.rehearsal.waiting import wait_for
from tests.worker.stage import PATIENCE_SECONDS, another_connection


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    made = ThreadPool(2, name="pool")
    yield made
    made.close(seconds=PATIENCE_SECONDS)
    assert threads() == []


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("pool-")]


def test_work_that_fails_costs_no_thread(
    pool: ThreadPool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    for _ in range(6):
        pool.submit(fail)
    pool.submit(lambda: done.put(1))
    assert done.get(timeout=PATIENCE_SECONDS) == 1
    assert len(threads()) == 2
    wait_for(lambda: len(caplog.records) == 6, "each failure is logged")
    assert {record.message for record in caplog.records} == {"a worker's thread stumbled"}


def test_closing_waits_for_what_is_in_hand(pool: ThreadPool) -> None:
    entered, done = threading.Event(), []

    def slow() -> None:
        entered.set()
        threading.Event().wait(0.1)
        done.append(1)

    pool.submit(slow)
    assert entered.wait(PATIENCE_SECONDS)
    pool.close(seconds=PATIENCE_SECONDS)
    assert done == [1]


def test_closing_does_not_wait_longer_than_it_is_told(pool: ThreadPool) -> None:
    opened = threading.Event()

    def hang() -> None:
        opened.wait(PATIENCE_SECONDS)

    pool.submit(hang)
    pool.close(seconds=0.05)
    assert len(threads()) >= 1
    opened.set()


@pytest.mark.usefixtures("transactional_db")
def test_a_threads_connection_is_closed_with_it(pool: ThreadPool) -> None:
    pids: queue.SimpleQueue[int] = queue.SimpleQueue()

    def ask() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            [(pid,)] = cursor.fetchall()
        pids.put(pid)

    pool.submit(ask)
    pid = pids.get(timeout=PATIENCE_SECONDS)
    pool.close(seconds=PATIENCE_SECONDS)
    with another_connection("postgres") as other:
        open_one = "SELECT FROM pg_stat_activity WHERE pid = %s"
        wait_for(lambda: not other.execute(open_one, [pid]).fetchone(), "it is closed")


def test_a_replaced_thread_ends_when_it_comes_back(pool: ThreadPool) -> None:
    opened = threading.Event()
    hanging: queue.SimpleQueue[threading.Thread] = queue.SimpleQueue()

    def hang() -> None:
        hanging.put(threading.current_thread())
        opened.wait(PATIENCE_SECONDS)

    pool.submit(hang)
    thread = hanging.get(timeout=PATIENCE_SECONDS)
    pool.replace(thread)
    pool.replace(thread)
    assert len(threads()) == 3
    opened.set()
    thread.join(PATIENCE_SECONDS)
    assert len(threads()) == 2


def test_a_thread_that_came_back_before_it_was_replaced_does_not_keep_another_alive(
    pool: ThreadPool,
) -> None:
    pool.replace(threads()[0])
    assert len(threads()) == 3
    pool.close(seconds=PATIENCE_SECONDS)
    wait_for(lambda: not threads(), "every thread has ended")
