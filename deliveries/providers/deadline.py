"""A time limit on a whole HTTP exchange, not on each read of it.

A socket's timeout starts anew with every byte, so a server that drips a byte a second holds a
thread for hours. Here one watchdog thread shuts the socket down when the exchange's time is up;
the blocked read then fails at once.
"""

import heapq
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection


class Exchange:
    """One request and its answer, with the connection it runs on."""

    def __init__(self, seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds
        self.connection: HTTPConnection | None = None
        self.finished = False
        self.cut_off = False
        self._lock = threading.Lock()

    def use(self, connection: HTTPConnection) -> None:
        """Take note of the connection; raise `TimeoutError` if the time is up already."""
        with self._lock:
            if self.cut_off:
                raise TimeoutError("the exchange's time was up before its request was sent")
            self.connection = connection

    def finish(self) -> None:
        with self._lock:
            self.finished = True
            self.connection = None

    def cut(self) -> None:
        """Shut the socket down, unless the exchange has ended by itself."""
        with self._lock:
            if self.finished:
                return
            self.cut_off = True
            sock = getattr(self.connection, "sock", None)
            if isinstance(sock, socket.socket):
                # The plain method: TLS's own would first drop its state under the reader.
                with suppress(OSError):  # Closed meanwhile, which is what was wanted.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

    @property
    def seconds_left(self) -> float:
        return self.ends_at - time.monotonic()


class Watchdog:
    """One thread that cuts off the exchanges whose time is up."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Exchange]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="http-deadline", daemon=True)
        self._thread.start()

    @contextmanager
    def limit(self, seconds: float) -> Iterator[Exchange]:
        exchange = Exchange(seconds)
        with self._changed:
            heapq.heappush(self._waiting, (exchange.ends_at, next(self._order), exchange))
            if self._waiting[0][2] is exchange:
                self._changed.notify()
        _current.exchange = exchange
        try:
            yield exchange
        finally:
            _current.exchange = None
            exchange.finish()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
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


class _JoinsExchange:
    """Tells the running exchange of this thread which connection it uses.

    At `connect` too: a TLS handshake can be dripped like an answer.
    """

    def connect(self) -> None:
        self._join()
        super().connect()  # type: ignore[misc]

    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        self._join()
        super().putrequest(*args, **kwargs)  # type: ignore[misc]

    def _join(self) -> None:
        exchange: Exchange | None = getattr(_current, "exchange", None)
        if exchange:
            exchange.use(self)  # type: ignore[arg-type]


class _HTTPConnection(_JoinsExchange, HTTPConnection):
    pass


class _HTTPSConnection(_JoinsExchange, HTTPSConnection):
    pass


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection


class DeadlineAdapter(HTTPAdapter):
    """Transport whose connections tell the running exchange which socket they use."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}


class DeadlineSession:
    """POSTs to one address, with a limit on the whole exchange and on the answer's size."""

    def __init__(self, url: str, *, seconds: float, max_body_bytes: int = 64 * 1024) -> None:
        self._url = url
        self._seconds = seconds
        self._max_body_bytes = max_body_bytes
        self._watchdog = Watchdog()
        self._local = threading.local()

    def post(self, *, body: bytes, headers: dict[str, str]) -> "Answer":
        """POST and return status, headers and the body's first bytes.

        Raise `requests.RequestException` as requests does, `requests.Timeout` when cut off.
        """
        with self._watchdog.limit(self._seconds) as exchange:
            try:
                response = self._session().post(
                    self._url,
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    stream=True,
                    timeout=exchange.seconds_left,
                )
                with response:
                    content = _read(response, self._max_body_bytes)
            except (requests.RequestException, OSError) as error:
                if exchange.cut_off and not isinstance(error, requests.Timeout):
                    raise requests.Timeout(f"no whole answer in {self._seconds:g} s") from error
                raise
        if exchange.cut_off:
            # A body that ended because we cut it is not an answer.
            raise requests.Timeout(f"no whole answer in {self._seconds:g} s")
        return Answer(response.status_code, dict(response.headers), content)

    def close(self) -> None:
        self._watchdog.close()

    def _session(self) -> requests.Session:
        """Return this thread's session: a session is not safe to share between threads."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = requests.Session()
            # Read the environment's proxies and certificates once, not for every request: that
            # alone is a fifth of what a request costs.
            settings = session.merge_environment_settings(self._url, {}, None, None, None)
            session.proxies, session.verify = settings["proxies"], settings["verify"]
            session.trust_env = False
            session.mount("http://", DeadlineAdapter(max_retries=0))
            session.mount("https://", DeadlineAdapter(max_retries=0))
            self._local.session = session
        return session


class Answer:
    """What the provider said, as far as we read it. Header names in any case."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = requests.structures.CaseInsensitiveDict(headers)
        self.body = body


def _read(response: requests.Response, limit: int) -> bytes:
    body = bytearray()
    for chunk in response.iter_content(8192):
        body += chunk
        if len(body) > limit:
            break
    return bytes(body[:limit])
