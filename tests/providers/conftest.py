"""Fixtures: the raw server and the mail server, and providers that talk to them."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deliveries.providers.sandbox import SandboxProvider
from deliveries.providers.smtp import SmtpProvider
from tests.providers.mail_server import MailServer
from tests.providers.raw_server import PATIENCE_SECONDS, SELF_SIGNED, RawServer, Script

Serve = Callable[[Script], RawServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[RawServer] = []

    def start(script: Script) -> RawServer:
        servers.append(RawServer(script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


Connect = Callable[..., SandboxProvider]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Make a provider for a URL; a time limit that only a hanging test would meet."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    providers: list[SandboxProvider] = []

    def make(
        url: str, *, seconds: float = PATIENCE_SECONDS, api_key: str = "a key"
    ) -> SandboxProvider:
        providers.append(SandboxProvider(url, api_key=api_key, timeout_seconds=seconds))
        return providers[-1]

    yield make
    for provider in providers:
        provider.close()


@pytest.fixture
def closed_port() -> int:
    """Return a port of 127.0.0.1 at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


StartMail = Callable[..., MailServer]


@pytest.fixture
def mail_server() -> Iterator[StartMail]:
    started: list[MailServer] = []

    def start(**options: Any) -> MailServer:
        started.append(MailServer(**options))
        return started[-1]

    yield start
    for server in started:
        server.close()


ConnectSmtp = Callable[..., SmtpProvider]


@pytest.fixture
def connect_smtp(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectSmtp]:
    """Make a provider for a port; the tests' certificate is trusted, for 127.0.0.1."""
    monkeypatch.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
    made: list[SmtpProvider] = []

    def make(port: int, *, seconds: float = PATIENCE_SECONDS, **options: Any) -> SmtpProvider:
        usual = {"host": "127.0.0.1", "security": "none", "domain": "invoicehub.example"}
        made.append(SmtpProvider(port=port, timeout_seconds=seconds, **(usual | options)))
        return made[-1]

    yield make
    for provider in made:
        provider.close()
