"""A time limit on a whole HTTP exchange, not on each read of it.

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
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util.connection import allowed_gai_family


class ExchangeFailed(Exception):
    """No whole answer came. `request_begun` is False if not a byte of the request has left."""

    def __init__(self, reason: str, *, request_begun: bool) -> None:
        super().__init__(reason)
        self.request_begun = request_begun


class AddressUnusable(ExchangeFailed):
    """The address, or the proxy's, is none that anything can be sent to."""


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
                self._thread = threading.Thread(target=self._run, name="http-deadline", daemon=True)
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


def _exchange() -> Exchange:
    exchange: Exchange = _current.exchange
    return exchange


class _JoinsExchange:
    """Tells the running exchange of this thread which socket it uses, from the first moment on.

    A TLS handshake and a proxy's greeting can be dripped like an answer.
    """

    def _new_conn(self: Any) -> socket.socket:
        sock = _connect(self)
        try:
            _exchange().hold(sock)
        except TimeoutError:
            sock.close()
            raise
        return sock

    def endheaders(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()
        _exchange().hold(self.sock)
        _exchange().request_begun = True
        super().endheaders(*args, **kwargs)  # type: ignore[misc]


def _connect(connection: HTTPConnection) -> socket.socket:
    """Connect to the first address that answers; all share what is left of the exchange's time.

    urllib3's own would give the whole of it to each: a name with eight addresses, none of which
    answers, would hold a thread eight times as long.
    """
    host = connection._dns_host.strip("[]")
    try:
        found = socket.getaddrinfo(host, connection.port, allowed_gai_family(), socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NameResolutionError(
            host, connection, socket.gaierror(socket.EAI_NONAME, str(error))
        ) from error
    failure: OSError = OSError("the name has no addresses")
    for tried, (family, kind, protocol, _, address) in enumerate(found):
        share = _exchange().seconds_left / (len(found) - tried)
        sock = socket.socket(family, kind, protocol)
        try:
            for option in connection.socket_options or ():
                sock.setsockopt(*option)
            sock.settimeout(share)
            sock.connect(address)
            sock.settimeout(_exchange().seconds_left)
            return sock
        except OSError as error:
            sock.close()
            failure = error
    if isinstance(failure, TimeoutError):
        raise ConnectTimeoutError(connection, f"{host} did not answer") from failure
    raise NewConnectionError(connection, str(failure)) from failure


class _HTTPConnection(_JoinsExchange, HTTPConnection):
    pass


class _HTTPSConnection(_JoinsExchange, HTTPSConnection):
    pass


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection


_POOLS = {"http": _HTTPPool, "https": _HTTPSPool}


class DeadlineAdapter(HTTPAdapter):
    """Transport whose connections tell the running exchange which socket they use."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        if proxy.lower().startswith("socks"):
            # Its connections are not ours: no time limit, and no knowing what has left.
            raise requests.exceptions.InvalidSchema("SOCKS proxies are not supported.")
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = _POOLS
        return manager


class DeadlineSession:
    """POSTs to one address, with a limit on the whole exchange and on the answer's size."""

    def __init__(self, url: str, *, seconds: float, max_body_bytes: int = 64 * 1024) -> None:
        self._url = url
        self._seconds = seconds
        self._max_body_bytes = max_body_bytes
        self._watchdog = Watchdog()
        self._local = threading.local()
        self._sessions: weakref.WeakSet[requests.Session] = weakref.WeakSet()
        self._lock = threading.Lock()

    def post(self, *, body: bytes, headers: dict[str, str]) -> "Answer":
        """POST and return status, headers and the body's first bytes; raise `ExchangeFailed`."""
        with self._watchdog.limit(self._seconds) as exchange:
            try:
                answer = self._exchange(exchange, body, headers)
            except _ADDRESS_UNUSABLE as error:
                raise AddressUnusable(
                    f"The provider's address cannot be used: {type(error).__name__}.",
                    request_begun=exchange.request_begun,
                ) from error
            except (requests.RequestException, OSError) as error:
                raise ExchangeFailed(
                    _reason(error, exchange), request_begun=exchange.request_begun
                ) from error
        if exchange.cut_off:
            # A body that ended because we cut it is not an answer.
            raise ExchangeFailed(_TOO_LATE, request_begun=exchange.request_begun)
        return answer

    def close(self) -> None:
        """Cut off what still runs and close the connections. A later `post` opens new ones."""
        self._watchdog.close()
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions:
            session.close()

    def _exchange(self, exchange: Exchange, body: bytes, headers: dict[str, str]) -> "Answer":
        session = self._session()
        response = session.post(
            self._url,
            data=body,
            headers=headers,
            allow_redirects=False,
            stream=True,
            timeout=exchange.seconds_left,
        )
        with response:
            content = _read(response, self._max_body_bytes)
        if response.status_code < 200:
            # http.client takes any 1xx but 100 for the answer. The real one may still come, and
            # the next message on this connection would take it for its own.
            session.close()
        return Answer(response.status_code, dict(response.headers), content)

    def _session(self) -> requests.Session:
        """Return this thread's session: a session is not safe to share between threads."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = self._new_session()
            with self._lock:
                self._sessions.add(session)
        return session

    def _new_session(self) -> requests.Session:
        session = requests.Session()
        # Read the environment's proxies and certificates once, not for every request: that
        # alone is a fifth of what a request costs.
        settings = session.merge_environment_settings(self._url, {}, None, None, None)
        session.proxies, session.verify = settings["proxies"], settings["verify"]
        session.trust_env = False
        # One message's answer must leave nothing behind for the next one's request.
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        session.mount("http://", DeadlineAdapter(max_retries=0))
        session.mount("https://", DeadlineAdapter(max_retries=0))
        return session


_ADDRESS_UNUSABLE = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
)
_TOO_LATE = "The provider did not answer in time."


def _reason(error: Exception, exchange: Exchange) -> str:
    if exchange.cut_off or isinstance(error, requests.Timeout):
        return _TOO_LATE
    if isinstance(error, requests.exceptions.SSLError):
        return "The provider's certificate or encryption is not to be trusted."
    if isinstance(error, requests.ConnectionError):
        return "The connection to the provider failed."
    return f"The exchange with the provider failed: {type(error).__name__}."


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
