"""Other programs at the same database, for tests in which locks are the point."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event
from time import monotonic
from typing import ParamSpec, TypeVar

from django.db import connection, transaction

DEADLINE_SECONDS = 10

P = ParamSpec("P")
T = TypeVar("T")


class Program:
    """A thread with a connection of its own, that does what it is told step by step."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._transaction = ExitStack()
        self._pid = self.do(_connect)

    def start(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin a step that may have to wait for another program's lock."""
        return self._thread.submit(step, *args, **kwargs)

    def do(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return result(self.start(step, *args, **kwargs))

    def begin(self) -> None:
        self.do(self._transaction.enter_context, transaction.atomic())

    def commit(self) -> None:
        self.do(self._transaction.close)

    def rollback(self) -> None:
        self.do(transaction.set_rollback, True)
        self.commit()

    def wait_until_blocked(self) -> None:
        """Return once the step under way waits for a lock."""
        wait_until(lambda: _is_blocked(self._pid))

    def close(self) -> None:
        self.start(self._give_up)
        self._thread.shutdown()

    def _give_up(self) -> None:
        if connection.in_atomic_block:
            transaction.set_rollback(True)
        self._transaction.close()
        connection.close()


Programs = Callable[[], Program]


def result(future: Future[T]) -> T:
    return future.result(timeout=DEADLINE_SECONDS)


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def in_transaction(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    with transaction.atomic():
        return step(*args, **kwargs)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = monotonic() + DEADLINE_SECONDS
    pause = Event()
    while not condition():
        assert monotonic() < deadline, "the awaited condition did not come about"
        pause.wait(0.002)


def _connect() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '10s'")
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def _is_blocked(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [pid])
        return bool(cursor.fetchone()[0])
