"""A worker's threads."""

import queue
import threading
import time
from collections.abc import Callable

from django.db import connections

Work = Callable[[], None]


class ThreadPool:
    """A fixed number of threads, each with its own database connection, closed when it ends.

    Daemons, which the standard executor's are not: a thread that hangs in an exchange must not
    keep a drained worker from exiting.
    """

    def __init__(self, size: int, *, name: str) -> None:
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
            for number in range(1, size + 1)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Work) -> None:
        self._work.put(work)

    def close(self, *, seconds: float) -> None:
        """Let the threads end after what they have in hand; wait for them so long."""
        for _ in self._threads:
            self._work.put(None)
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        try:
            while (work := self._work.get()) is not None:
                work()
        finally:
            connections.close_all()
