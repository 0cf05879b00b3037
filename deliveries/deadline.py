"""Notices a database that hangs: its kernel goes on acknowledging, so no time-out of TCP ends it.

For probes, which have to answer in time. Whatever else waits for PostgreSQL had better wait.
"""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

# Connecting anew takes the connection's connect_timeout more, at most.
SECONDS = 4.0


@contextmanager
def database_answers(seconds: float = SECONDS) -> Iterator[None]:
    """Let what waits for this thread's database longer than that fail with its `Error`."""
    cutting = _Cutting(connections["default"])
    timer = threading.Timer(seconds, cutting.cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        cutting.end()


class _Cutting:
    """Ends a connection from another thread, but not once its own thread is done."""

    def __init__(self, wrapper: BaseDatabaseWrapper) -> None:
        self._wrapper = wrapper
        self._lock = threading.Lock()
        self._ended = False

    def end(self) -> None:
        with self._lock:
            self._ended = True

    def cut(self) -> None:
        with self._lock:
            # None while it is being made, which connect_timeout limits.
            raw: psycopg.Connection | None = self._wrapper.connection
            if self._ended or raw is None:
                return
            # A duplicate, since closing it must not close what libpq still holds.
            with (
                suppress(OSError, psycopg.Error),
                socket.socket(fileno=os.dup(raw.fileno())) as line,
            ):
                line.shutdown(socket.SHUT_RDWR)
