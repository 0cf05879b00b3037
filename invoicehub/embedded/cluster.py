"""One data folder and the PostgreSQL server that works on it.

Nothing here is safe against a second process that does the same at the same time: the caller
(`server.py`) holds the folder's lock.
"""

import os
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg import pq
from psycopg.conninfo import make_conninfo

from invoicehub.embedded import installation, processes
from invoicehub.embedded.errors import ServerFailed

USER = "postgres"
PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"
START_DEADLINE_SECONDS = 60
PING_DEADLINE_SECONDS = 10
MAX_CONNECTIONS = 200

# The kernel's limit for a socket's path is 104 bytes on macOS and 108 on Linux.
_LONGEST_SOCKET_PATH = 100
_LOG_LINES_SHOWN = 15
_LOG_SIZE_KEPT = 5_000_000


@dataclass(frozen=True)
class Postmaster:
    """A living server process. `sockets` is None until it has written where it listens."""

    pid: int
    sockets: Path | None = None
    stopping: bool = False


class Cluster:
    """The data folder, its server and its log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "log"

    def start(self) -> Path:
        """Return the folder of the socket, once a real connection over it has been answered."""
        self._check_version()
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while True:
            postmaster = self.postmaster()
            if postmaster is None:
                self._launch(deadline)
            elif postmaster.sockets and _answers(postmaster.sockets):
                return postmaster.sockets
            elif postmaster.stopping:
                # A plain `kill` makes it wait until its last client leaves: end that wait.
                processes.end(postmaster.pid)
            elif time.monotonic() > deadline:
                raise ServerFailed(self._story(f"process {postmaster.pid} does not answer"))
            else:
                # Starting or recovering: both end by themselves.
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server; return once it is gone."""
        postmaster = self.postmaster()
        if postmaster is None:
            return
        processes.end(postmaster.pid)
        if postmaster.sockets and postmaster.sockets != self.data:
            with suppress(OSError):
                postmaster.sockets.rmdir()

    def postmaster(self) -> Postmaster | None:
        """Return the living server of this folder, whatever state its pid file is in."""
        lines = self._pid_file()
        if lines and lines[0].isdecimal() and processes.serves(int(lines[0]), self.data):
            sockets = lines[4] if len(lines) > 4 else ""
            return Postmaster(
                pid=int(lines[0]),
                sockets=Path(sockets) if sockets else None,
                stopping=lines[7:8] == ["stopping"],
            )
        return None

    def _pid_file(self) -> list[str]:
        try:
            text = (self.data / "postmaster.pid").read_text(errors="replace")
        except FileNotFoundError:
            return []
        return [line.strip() for line in text.splitlines()]

    def _check_version(self) -> None:
        installation.programs()
        if (self.folder / "PG_VERSION").exists():
            raise ImproperlyConfigured(
                f"{self.folder} is itself a PostgreSQL data folder. Set EMBEDDED_POSTGRES_DIR "
                "to a folder of its own, which may be new."
            )
        try:
            version = (self.data / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return
        if version != str(installation.MAJOR_VERSION):
            raise ImproperlyConfigured(
                f"{self.data} holds data of PostgreSQL {version or 'of an unknown version'}, and "
                f"this project now runs PostgreSQL {installation.MAJOR_VERSION}. Delete that "
                "folder (the demo's data is made anew), or set EMBEDDED_POSTGRES_DIR to another."
            )

    def _launch(self, deadline: float) -> None:
        """Start a server and return when it answers or has died of something that passes."""
        account = installation.account_for(self.folder)
        sockets = self._socket_folder(account)
        installation.open_the_way(account, self.data, sockets, installation.programs())
        self._clear_away_the_dead(sockets)
        if (self.data / "PG_VERSION").exists():
            installation.hand_over(self.data, account)
        else:
            self._initialize(account)
        pid, said_from = self._spawn(account, sockets)
        while processes.lives(pid):
            postmaster = self.postmaster()
            if postmaster and postmaster.sockets and _answers(postmaster.sockets):
                return
            if time.monotonic() > deadline:
                raise ServerFailed(self._story("it does not answer"))
            time.sleep(0.02)
        # After a SIGKILL of the server its own children need a moment to notice and leave.
        if "shared memory block" in self._log_since(said_from) and time.monotonic() < deadline:
            self._end_strays()
            time.sleep(0.2)
            return
        raise ServerFailed(self._story("it ended while starting"))

    def _clear_away_the_dead(self, sockets: Path) -> None:
        """Remove lock files that name no server of this folder. PostgreSQL itself only asks
        whether any process has that number, and after a reboot one often does.
        """
        lines = self._pid_file()
        if lines and not lines[0].isdecimal():
            self._end_strays()
        for left_over in (self.data / "postmaster.pid", sockets / f"{SOCKET}.lock"):
            left_over.unlink(missing_ok=True)

    def _end_strays(self) -> None:
        """End a server of this folder that no pid file names any more."""
        for pid in processes.postgres_pids():
            if processes.serves(pid, self.data):
                processes.end(pid)

    def _initialize(self, account: installation.Account | None) -> None:
        if self.data.exists() and any(self.data.iterdir()):
            raise ImproperlyConfigured(
                f"{self.data} exists and holds something else than PostgreSQL data. Look at it, "
                "move it away, or set EMBEDDED_POSTGRES_DIR to another folder."
            )
        # A server whose folder was deleted under it would live on for up to a minute.
        self._end_strays()
        unfinished = self.data.with_name("data.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        installation.hand_over(unfinished, account)
        made = installation.run(
            [
                installation.programs() / "initdb",
                *("--pgdata", unfinished, "--username", USER, "--auth", "trust"),
                # The same order and case rules on every machine, whatever locales it has.
                *("--encoding", "UTF8", "--locale", "C"),
                *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
            ],
            account,
        )
        if made.returncode:
            raise ServerFailed(f"initdb could not make {unfinished}:\n{made.stdout}{made.stderr}")
        # Only a finished folder gets the name: an initdb that was killed leaves nothing behind.
        unfinished.rename(self.data)

    def _spawn(self, account: installation.Account | None, sockets: Path) -> tuple[int, int]:
        """Start the server in the background; return its pid and where its log begins."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(sockets),
            "port": PORT,
            "max_connections": MAX_CONNECTIONS,
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        if self.log.exists() and self.log.stat().st_size > _LOG_SIZE_KEPT:
            self.log.replace(self.log.with_name("log.old"))
        with self.log.open("a") as log:
            installation.hand_over(self.log, account)
            said_from = log.tell()
            # The shell leaves at once, so the server is nobody's child: no process of ours has
            # to wait for it, and none takes it along. pg_ctl would do the same, but it builds
            # a command line by hand, which breaks at a quote or a dollar sign in the path.
            shell: list[str | Path] = ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh"]
            postgres = installation.programs() / "postgres"
            started = installation.run(
                [*shell, postgres, "-D", self.data, *options], account, errors=log.fileno()
            )
        return int(started.stdout), said_from

    def _socket_folder(self, account: installation.Account | None) -> Path:
        """Return the data folder, or a short private one where that path makes no good socket."""
        path = os.fsencode(self.data / SOCKET)
        if len(path) <= _LONGEST_SOCKET_PATH and not set(b",\"'@") & set(path):
            return self.data
        owner = account.uid if account else os.geteuid()
        name = f"invoicehub-{owner}-{sha256(path).hexdigest()[:12]}"
        folder = Path(tempfile.gettempdir(), name)
        if len(os.fsencode(folder)) > _LONGEST_SOCKET_PATH - len(SOCKET) - 1:
            folder = Path("/tmp", name)  # noqa: S108  # private: owner and mode are checked
        _make_private(folder, account)
        return folder

    def _log_since(self, position: int) -> str:
        with self.log.open("rb") as log:
            log.seek(position)
            return log.read().decode(errors="replace")

    def _story(self, what: str) -> str:
        self.log.touch()
        lines = self._log_since(max(0, self.log.stat().st_size - 20_000)).splitlines()
        return "\n".join(
            [
                f"The private PostgreSQL in {self.data} cannot be used: {what}.",
                f"{self.log} ends:",
                *lines[-_LOG_LINES_SHOWN:],
            ]
        )


def _make_private(folder: Path, account: installation.Account | None) -> None:
    """Make a folder in /tmp that only its owner can enter; refuse one that somebody put there."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        installation.hand_over(folder, account)
    status = folder.lstat()
    owner = account.uid if account else os.geteuid()
    if status.st_uid != owner or status.st_mode & 0o170077 != 0o040000:
        raise ServerFailed(f"{folder}, needed for PostgreSQL's socket, was made by somebody else.")


def connect(sockets: Path, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
    """Open a connection of our own, beside Django's, in autocommit."""
    return psycopg.connect(
        host=str(sockets),
        port=PORT,
        user=USER,
        dbname=database,
        autocommit=True,
        connect_timeout=10,
    )


def _answers(sockets: Path) -> bool:
    """Tell whether a connection gets as far as being let in or refused for a reason of its own."""
    where = make_conninfo(
        host=str(sockets),
        port=PORT,
        user=USER,
        dbname="postgres",
        connect_timeout=PING_DEADLINE_SECONDS,
    )
    return pq.PGconn.ping(where.encode()) == pq.Ping.OK
