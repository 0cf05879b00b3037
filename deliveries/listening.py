"""Hears at once that a delivery was requested. A comfort: whoever listens polls as well."""

import logging
import threading
from collections.abc import Callable

import psycopg
from django.db import DEFAULT_DB_ALIAS, Error, connections

from deliveries.ledger import CHANNEL

logger = logging.getLogger(__name__)


class Listener(threading.Thread):
    """A thread with a connection of its own in LISTEN; calls `wake` for each notice of the lane.

    Notices get lost: while it reconnects, through a pooler in transaction mode, on a connection
    that died in silence.
    """

    def __init__(self, lane: str, *, wake: Callable[[], None], retry_seconds: float = 1) -> None:
        super().__init__(name="listener", daemon=True)
        self._lane = lane
        self._wake = wake
        self._retry_seconds = retry_seconds
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._listen()
            except (Error, psycopg.Error):
                logger.warning("not listening; polling goes on", extra={"lane": self._lane})
                self._stopped.wait(self._retry_seconds)

    def stop(self) -> None:
        """Make the thread end, within about a second, its connection closed."""
        self._stopped.set()

    def _listen(self) -> None:
        wrapper = connections.create_connection(DEFAULT_DB_ALIAS)
        wrapper.inc_thread_sharing()
        try:
            wrapper.connect()
            raw: psycopg.Connection = wrapper.connection
            raw.execute(f"LISTEN {CHANNEL}")
            # What was requested while nobody listened.
            self._wake()
            while not self._stopped.is_set():
                for notice in raw.notifies(timeout=1, stop_after=1):
                    if notice.payload == self._lane:
                        self._wake()
        finally:
            wrapper.close()
