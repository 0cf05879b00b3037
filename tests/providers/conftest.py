"""Fixtures: the raw server, and providers that talk to it."""

from collections.abc import Callable, Iterator

import pytest

from deliveries.providers.sandbox import SandboxProvider
from tests.providers.raw_server import PATIENCE_SECONDS, RawServer, Script

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
