"""Hears at once that a delivery was requested. A comfort: whoever listens polls as well."""

import logging
import selectors
import socket
import threading
from collections.abc import Callable

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from deliveries.ledger import CHANNEL

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0
# A connection that died in silence (a firewall forgot it) is noticed by asking.
_PROBE_SECONDS = 60.0


class Listener(threading.Thread):
    """A thread with a connection of its own in LISTEN; calls `wake` for each notice of the lane.

    Notices get lost while it reconnects, and on a connection that died in silence. Behind a pooler
    in transaction mode it listens past it, at DATABASE_DIRECT_URL; without one it ends at once.
    """

    def __init__(self, lane: str, *, wake: Callable[[], None]) -> None:
        super().__init__(name="listener", daemon=True)
        self._lane = lane
        self._wake = wake
        self._halted = threading.Event()
        # Readable once stop() was called, so that the thread can wait for that and for notices.
        self._halt, self._halting = socket.socketpair()
        self._is_deaf = False

    def run(self) -> None:
        alias = _alias()
        if alias is None:
            logger.warning(
                "not listening; polling goes on",
                extra={"lane": self._lane, "why": "a pooler, and no DATABASE_DIRECT_URL"},
            )
            return
        while not self._halted.is_set():
            try:
                self._listen(alias)
            except Exception as error:  # noqa: BLE001 - a comfort may fail, but not for ever
                self._tell_that_it_is_deaf(error)
                self._halted.wait(_RETRY_SECONDS)

    def stop(self) -> None:
        """End the thread, its connection closed; wait for it a moment. Once only."""
        self._halted.set()
        self._halting.close()
        if self.ident is not None:
            self.join(1)
        self._halt.close()

    def _listen(self, alias: str) -> None:
        wrapper = connections.create_connection(alias)
        try:
            wrapper.connect()
            raw: psycopg.Connection = wrapper.connection
            raw.execute(f"LISTEN {CHANNEL}")
            self._is_deaf = False
            # What was requested while nobody listened.
            self._wake()
            with selectors.DefaultSelector() as selector:
                selector.register(raw.fileno(), selectors.EVENT_READ)
                selector.register(self._halt, selectors.EVENT_READ)
                while not self._halted.is_set():
                    self._hear(raw, selector)
        finally:
            wrapper.close()

    def _hear(self, raw: psycopg.Connection, selector: selectors.BaseSelector) -> None:
        """Wait for notices, for stop(), or until it is time to ask whether the other side lives."""
        if not selector.select(_PROBE_SECONDS):
            raw.execute("SELECT 1")
        # A generator: even where it waits for nothing, it reads all that has come.
        if any(notice.payload == self._lane for notice in raw.notifies(timeout=0)):
            self._wake()

    def _tell_that_it_is_deaf(self, error: Exception) -> None:
        """Say so once, not at every vain attempt to listen again."""
        if not self._is_deaf and not self._halted.is_set():
            logger.warning(
                "not listening; polling goes on", extra={"lane": self._lane, "error": str(error)}
            )
        self._is_deaf = True


def _alias() -> str | None:
    """Return the connection on which a notice can be heard, if there is one."""
    if settings.DATABASE_POOLER == "none":
        return DEFAULT_DB_ALIAS
    return "direct" if "direct" in settings.DATABASES else None
