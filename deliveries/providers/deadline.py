"""A time limit on a whole exchange with a server, HTTP or SMTP, not on each read of it.

A socket's timeout starts anew with every byte, so a server that drips a byte a second holds a
thread for hours. Here one watchdog thread shuts the socket down when the exchange's time is up;
the blocked read then fails at once.
"""

import heapq
import itertools
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress


class Exchange:
    """One request and its answer, with a hold on the socket it runs on."""

    def __init__(self, seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds
        self.request_begun = False
        self.finished = False
        self.cut_off = False
        # A descriptor of our own: whatever http.client, TLS or a proxy's tunnel do with theirs
        # (an answer that closes takes the socket away from its connection), this one stays the
        # socket that must be shut down.
        self._descriptor: int | None = None
        self._lock = threading.Lock()

    def hold(self, sock: socket.socket) -> None:
        """Take hold of the socket; raise `TimeoutError` if the time is up already."""
        with self._lock:
            if self.cut_off:
                raise TimeoutError("the exchange's time was up before its request was sent")
            self._let_go()
            self._descriptor = os.dup(sock.fileno())

    def finish(self) -> None:
        with self._lock:
            self.finished = True
            self._let_go()

    def cut(self) -> None:
        """Shut the socket down, unless the exchange has ended by itself."""
        with self._lock:
            if self.finished:
                return
            self.cut_off = True
            if self._descriptor is not None:
                with socket.socket(fileno=self._descriptor) as held:
                    self._descriptor = None
                    with suppress(OSError):  # Ended meanwhile, which is what was wanted.
                        held.shutdown(socket.SHUT_RDWR)

    def refuse_if_over(self) -> None:
        if self.is_over:
            raise TimeoutError("the exchange's time was up before its request was sent")

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.ends_at

    @property
    def seconds_left(self) -> float:
        """Return what is left, never nothing: urllib3 refuses a timeout of 0."""
        return max(0.001, self.ends_at - time.monotonic())

    def _let_go(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Watchdog:
    """One thread that cuts off the exchanges whose time is up; the first exchange starts it."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Exchange]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def limit(self, seconds: float) -> Iterator[Exchange]:
        exchange = Exchange(seconds)
        with self._changed:
            heapq.heappush(self._waiting, (exchange.ends_at, next(self._order), exchange))
            if self._waiting[0][2] is exchange:
                self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="exchange-deadline", daemon=True
                )
                self._thread.start()
        _current.exchange = exchange
        try:
            yield exchange
        finally:
            _current.exchange = None
            exchange.finish()

    def close(self) -> None:
        """Cut off what still runs and end the thread. A later exchange starts another."""
        with self._changed:
            thread, self._thread = self._thread, None
            running, self._waiting = self._waiting, []
            self._changed.notify_all()
        for _, _, exchange in running:
            exchange.cut()
        if thread is not None:
            thread.join(1)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._thread is not threading.current_thread():
                    return
                if not self._waiting:
                    self._changed.wait()
                    continue
                ends_at, _, exchange = self._waiting[0]
                left = ends_at - time.monotonic()
                if left > 0 and not exchange.finished:
                    self._changed.wait(left)
                    continue
                heapq.heappop(self._waiting)
            exchange.cut()


_current = threading.local()


def running_exchange() -> Exchange:
    """Return the exchange that this thread is in."""
    exchange: Exchange = _current.exchange
    return exchange


def open_socket(
    host: str, port: int, *, family: int = 0, options: Iterable[tuple[int, int, int | bytes]] = ()
) -> socket.socket:
    """Connect to the first address that answers; all share what is left of the exchange's time.

    The usual functions give the whole of it to each: a name with eight addresses, none of which
    answers, would hold a thread eight times as long. Raise `socket.gaierror`, `UnicodeError`,
    `TimeoutError` or another `OSError`.
    """
    found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    failure: OSError = OSError("the name has no addresses")
    for tried, (family_, kind, protocol, _, address) in enumerate(found):
        share = running_exchange().seconds_left / (len(found) - tried)
        sock = socket.socket(family_, kind, protocol)
        try:
            for option in options:
                sock.setsockopt(*option)
            sock.settimeout(share)
            sock.connect(address)
            sock.settimeout(running_exchange().seconds_left)
            return sock
        except OSError as error:
            sock.close()
            failure = error
    raise failure
