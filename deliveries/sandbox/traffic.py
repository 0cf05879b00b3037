"""Counting hand-overs: how many at once, and what became of them."""

import contextlib
import socket
import threading
from typing import Literal

Outcome = Literal["accepted", "replayed", "refused", "faulted"]
_OUTCOMES: tuple[Outcome, ...] = ("accepted", "replayed", "refused", "faulted")


def client_has_left(connection: socket.socket) -> bool:
    """Say whether the other side has closed the connection, without reading from it."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


class Flight:
    """One hand-over, from its arrival until land(), which may be called more than once."""

    def __init__(self, traffic: "Traffic", connection: socket.socket) -> None:
        self._traffic = traffic
        self.connection = connection
        self.hangs = False

    def land(self) -> None:
        self._traffic.land(self)


class Traffic:
    """The counts behind GET /stats.

    A flight lands just before the last of its answer is sent: a client that waits for each answer
    before it sends the next message is never counted twice.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: set[Flight] = set()
        self._max_in_flight = 0
        self._requests = 0
        self._outcomes: dict[Outcome, int] = dict.fromkeys(_OUTCOMES, 0)

    def begin(self, connection: socket.socket) -> Flight:
        flight = Flight(self, connection)
        with self._lock:
            # A client that gave up on a hanging request may be here again before that request's
            # own thread has noticed: it must not count twice.
            for other in [other for other in self._flights if other.hangs]:
                if client_has_left(other.connection):
                    self._flights.discard(other)
            self._flights.add(flight)
            self._requests += 1
            self._max_in_flight = max(self._max_in_flight, len(self._flights))
        return flight

    def land(self, flight: Flight) -> None:
        with self._lock, contextlib.suppress(KeyError):
            self._flights.remove(flight)

    def count(self, outcome: Outcome) -> None:
        with self._lock:
            self._outcomes[outcome] += 1

    def stats(self) -> dict[str, int]:
        with self._lock:
            return {
                "in_flight": len(self._flights),
                "max_in_flight": self._max_in_flight,
                "requests": self._requests,
                **{str(outcome): count for outcome, count in self._outcomes.items()},
            }

    def reset(self) -> None:
        """Start counting anew; what is in flight now stays in flight."""
        with self._lock:
            self._max_in_flight = len(self._flights)
            self._requests = 0
            self._outcomes = dict.fromkeys(_OUTCOMES, 0)
