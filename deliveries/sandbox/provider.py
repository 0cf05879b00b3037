"""The sandbox provider as an object: start it, ask it, stop it, start it again."""

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from deliveries.sandbox.faults import Faults
from deliveries.sandbox.handing_over import Sandbox
from deliveries.sandbox.server import SandboxServer
from deliveries.sandbox.shelves import DirectoryShelf, MemoryShelf
from deliveries.sandbox.store import Store
from deliveries.sandbox.traffic import Traffic
from deliveries.sandbox.webhooks import Webhooks

_STOP_WITHIN_SECONDS = 5.0


class SandboxProvider:
    """An e-mail provider of our own on a real HTTP port, served by a thread of this process.

    `data` is the directory that keeps messages and keys; None keeps them in memory, for as long
    as this object lives. Port 0 takes a free one, which a later start() takes again.
    `webhooks` tells what became of each message.

        with SandboxProvider() as provider:
            provider.faults.set(fail_next={"status": 503, "count": 2})
            ...
            assert len(provider.messages()) == 1
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        api_key: str | None = None,
        webhooks: Webhooks | None = None,
    ) -> None:
        self.faults = Faults()
        self._traffic = Traffic()
        self._data = None if data is None else Path(data)
        self._address = (host, port)
        self._api_key = api_key
        self._webhooks = webhooks
        self._store = Store(MemoryShelf()) if self._data is None else None
        self._server: SandboxServer | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> Self:
        """Listen; raise StoreError for the data directory, OSError for the port."""
        if self._server is not None:
            raise RuntimeError("The sandbox provider is running already.")
        store = self._open_store()
        sandbox = Sandbox(store, self.faults, self._traffic, self._api_key, self._webhooks)
        try:
            self._server = SandboxServer(self._address, sandbox)
        except OSError:
            store.close()
            raise
        self._address = (self._address[0], self._server.server_port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="sandbox-provider", daemon=True
        )
        self._thread.start()
        if self._webhooks is not None:
            self._webhooks.start()
        return self

    def stop(self) -> None:
        """Cut every connection and let go of port and directory. Safe to call twice."""
        server, self._server = self._server, None
        if server is None or self._thread is None:
            return
        server.sandbox.stopping.set()
        server.shutdown()
        self._thread.join()
        server.server_close()
        server.cut_connections(wait_seconds=_STOP_WITHIN_SECONDS)
        if self._webhooks is not None:
            self._webhooks.stop()
        server.sandbox.store.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        host, port = self._address
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def messages(
        self, *, to: str | None = None, key: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """List accepted messages, newest first, as GET /messages does."""
        return self._running_store().messages(to=to, key=key, limit=limit)

    def message(self, message_id: str) -> dict[str, Any]:
        """Return one whole message, as GET /messages/<id> does."""
        return self._running_store().message(message_id)

    def clear(self) -> None:
        """Empty the inbox and forget its keys."""
        self._running_store().clear()

    def stats(self) -> dict[str, int]:
        return self._traffic.stats()

    def reset_stats(self) -> None:
        self._traffic.reset()

    def _open_store(self) -> Store:
        if self._data is None:
            return self._running_store()
        shelf = DirectoryShelf(self._data)
        try:
            self._store = Store(shelf)
        except Exception:
            shelf.close()
            raise
        return self._store

    def _running_store(self) -> Store:
        if self._store is None:
            raise RuntimeError("The sandbox provider has not been started.")
        return self._store
