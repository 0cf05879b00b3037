"""POSTing over HTTP within a deadline, and knowing whether anything has left."""

import socket
import threading
import weakref
from http.client import HTTPException
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util.connection import allowed_gai_family

from deliveries.providers import unreached
from deliveries.providers.deadline import Exchange, Watchdog, open_socket, running_exchange


class ExchangeFailed(Exception):
    """No whole answer came. `request_begun` is False if not a byte of the request has left."""

    def __init__(self, reason: str, *, request_begun: bool) -> None:
        super().__init__(reason)
        self.request_begun = request_begun


class AddressUnusable(ExchangeFailed):
    """The address, or the proxy's, is none that anything can be sent to."""

    look_at: tuple[str, ...] = ("EMAIL_PROVIDER_URL",)


class NotTrusted(AddressUnusable):
    """Nobody that we trust vouches for the server: nothing was sent to it."""

    # What requests reads. SSL_CERT_FILE is for SMTP.
    look_at = ("EMAIL_PROVIDER_URL", "REQUESTS_CA_BUNDLE")


class _JoinsExchange:
    """Tells the running exchange of this thread which socket it uses, from the first moment on.

    A TLS handshake and a proxy's greeting can be dripped like an answer.
    """

    def _new_conn(self: Any) -> socket.socket:
        sock = _connect(self)
        try:
            running_exchange().hold(sock)
        except OSError:
            sock.close()
            raise
        return sock

    def endheaders(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()
        running_exchange().hold(self.sock)
        # A process that stood still meanwhile must not send what another may have sent since.
        running_exchange().refuse_if_over()
        running_exchange().request_begun = True
        super().endheaders(*args, **kwargs)  # type: ignore[misc]


def _connect(connection: HTTPConnection) -> socket.socket:
    """Connect within the exchange's time; fail as urllib3's own function would."""
    host = connection._dns_host.strip("[]")
    try:
        return open_socket(
            host,
            connection.port,
            family=allowed_gai_family(),
            options=connection.socket_options or (),
        )
    except (socket.gaierror, UnicodeError) as error:
        raise NameResolutionError(
            host, connection, socket.gaierror(socket.EAI_NONAME, str(error))
        ) from error
    except TimeoutError as error:
        raise ConnectTimeoutError(connection, f"{host} did not answer") from error
    except OSError as error:
        raise NewConnectionError(connection, str(error)) from error


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


class _Session(requests.Session):
    """Looks at no redirect: requests would read the whole of its body, however large, to do so."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


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
                answer = self._carry_out(exchange, body, headers)
            except _ADDRESS_UNUSABLE as error:
                raise AddressUnusable(
                    f"The provider's address cannot be used: {type(error).__name__}.",
                    request_begun=exchange.request_begun,
                ) from error
            except _NO_ANSWER as error:
                raise _failure(error, exchange) from error
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

    def _carry_out(self, exchange: Exchange, body: bytes, headers: dict[str, str]) -> "Answer":
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
        session = _Session()
        # Read the environment's proxies and certificates once, not for every request: that
        # alone is a fifth of what a request costs.
        settings = session.merge_environment_settings(self._url, {}, None, None, None)
        session.proxies, session.verify = settings["proxies"], settings["verify"]
        session.trust_env = False
        if isinstance(session.verify, str) and not Path(session.verify).exists():
            raise NotTrusted(
                "The certificates that REQUESTS_CA_BUNDLE names are not there.",
                request_begun=False,
            )
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
# Besides requests' own: over a garbled answer urllib3 and http.client stumble in many ways.
_NO_ANSWER = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    HTTPException,
    OSError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
)
_TOO_LATE = "The provider did not answer in time."


def _failure(error: Exception, exchange: Exchange) -> ExchangeFailed:
    begun = exchange.request_begun
    if found := unreached.untrusted(error):
        return NotTrusted(
            f"The provider's certificate is not trusted: {found.verify_message}.",
            request_begun=begun,
        )
    return ExchangeFailed(_reason(error, exchange), request_begun=begun)


def _reason(error: Exception, exchange: Exchange) -> str:
    # A read that timed out in mid body is a ConnectionError to requests.
    if exchange.cut_off or exchange.is_over or isinstance(error, requests.Timeout):
        return _TOO_LATE
    if isinstance(error, requests.ConnectionError):
        where = "proxy" if isinstance(error, requests.exceptions.ProxyError) else "provider"
        words = unreached.why(error)
        return f"The connection to the {where} failed{f': {words}' if words else ''}."
    return "The provider's answer broke off or cannot be read."


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
