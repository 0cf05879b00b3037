"""A database that hangs: it takes connections, and never says a word."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent_database() -> Iterator[str]:
    """Listen, and answer nothing; yield its DATABASE_URL."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield f"postgres://someone@127.0.0.1:{server.getsockname()[1]}/none"
