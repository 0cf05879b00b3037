"""A worker's threads."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from itertools import count

from django.db import connections

logger = logging.getLogger(__name__)

Work = Callable[[], None]


class ThreadPool:
    """A fixed number of threads, each with its own database connection, closed when it ends.

    Daemons, which the standard executor's are not: a thread that hangs in an exchange must not
    keep a drained worker from exiting.
    """

    def __init__(self, size: int, *, name: str) -> None:
        self._name = name
        self._numbers = count(1)
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._threads: set[threading.Thread] = set()
        self._replaced: set[threading.Thread] = set()
        for _ in range(size):
            self._add()

    def submit(self, work: Work) -> None:
        self._work.put(work)

    def replace(self, thread: threading.Thread | None) -> None:
        """Start another thread for one that hangs; should that one ever come back, it ends."""
        if thread in self._threads:
            self._threads.remove(thread)
            self._replaced.add(thread)
            self._add()

    def close(self, *, seconds: float) -> None:
        """Let the threads end after what they have in hand; wait for them so long."""
        # Also for those that were replaced: one may have come back just before it was.
        for _ in range(len(self._threads) + len(self._replaced)):
            self._work.put(None)
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _add(self) -> None:
        thread = threading.Thread(
            target=self._run, name=f"{self._name}-{next(self._numbers)}", daemon=True
        )
        self._threads.add(thread)
        thread.start()

    def _run(self) -> None:
        this = threading.current_thread()
        try:
            while this not in self._replaced and (work := self._work.get()) is not None:
                try:
                    work()
                except Exception:
                    # A thread that ended here would be missing for as long as the worker runs.
                    logger.exception("a worker's thread stumbled")
        finally:
            connections.close_all()
