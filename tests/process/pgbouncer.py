"""A PgBouncer in transaction mode before the private PostgreSQL."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

from invoicehub.rehearsal.processes import Process, free_port
from invoicehub.rehearsal.waiting import wait_for

# Debian keeps it where only root's PATH leads.
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

needs_pgbouncer = pytest.mark.skipif(
    PROGRAM is None, reason="pgbouncer is missing: Debian's package of that name"
)

# server_reset_query_always: whatever a session held is gone after each transaction, and not only
# when another client happened to have the connection between.
_SETTINGS = """\
[databases]
{database} = host={host} port={port} user={user} dbname={database}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
server_reset_query_always = {forgets}
"""


class PgBouncer:
    """Started in a `with` block; `url` leads through it. `reach` is how psycopg gets there."""

    def __init__(
        self, reach: Mapping[str, Any], *, folder: Path, size: int, forgets: bool = True
    ) -> None:
        self._port = free_port()
        self._user = str(reach["user"])
        self._database = str(reach["dbname"])
        self._folder = folder
        self._owner = Path(reach["host"]).owner()
        self._settings = folder / "pgbouncer.ini"
        self._settings.write_text(
            _SETTINGS.format(
                database=self._database,
                host=reach["host"],
                port=reach["port"],
                user=self._user,
                own_port=self._port,
                size=size,
                forgets=int(forgets),
            )
        )
        self._process: Process | None = None

    @property
    def url(self) -> str:
        return f"postgres://{self._user}@127.0.0.1:{self._port}/{self._database}"

    @property
    def reach(self) -> dict[str, Any]:
        """Return what differs, for psycopg, from going to PostgreSQL itself."""
        return {"host": "127.0.0.1", "port": self._port}

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()

    def restart(self) -> None:
        """Cut every connection off, in the midst of whatever it does, and start again."""
        self._kill()
        self._start()

    def _start(self) -> None:
        # It refuses to run as root, and has to enter the folder of PostgreSQL's socket.
        user = ["-u", self._owner] if os.geteuid() == 0 else []
        self._process = Process(
            "pgbouncer",
            [str(PROGRAM), *user, str(self._settings)],
            log=self._folder / "pgbouncer.log",
            environment=os.environ,
        )
        wait_for(self._answers, "PgBouncer answers", seconds=20)

    def _kill(self) -> None:
        if self._process:
            self._process.kill()

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True
