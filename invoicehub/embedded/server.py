"""Who uses a folder's server: the first process starts it, the last one to leave stops it.

Beside the data lie two lock files. `lock` is held while the server is started or stopped. `users`
is held, shared, by every process for as long as it uses the server; the kernel lets go of it when
a process dies, however it dies, so nobody has to count pids that may be dead or somebody else's.
"""

import atexit
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
from django.core.exceptions import ImproperlyConfigured

from invoicehub.embedded.cluster import PORT, START_DEADLINE_SECONDS, USER, Cluster, connect
from invoicehub.embedded.errors import ServerFailed
from invoicehub.embedded.installation import account_for, hand_over

# Longer than another process may need to start or to stop the server.
_TURN_DEADLINE_SECONDS = START_DEADLINE_SECONDS + 45


class Server:
    """This process's use of the server in one folder. Get it from `start()`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sockets = folder / "data"
        self._cluster = Cluster(folder)
        self._users: int | None = None

    def url(self, database: str = "invoicehub") -> str:
        """Return what DATABASE_URL needs to reach a database of this server."""
        return f"postgres://{USER}@/{quote(database)}?host={quote(str(self.sockets))}&port={PORT}"

    def revive(self) -> None:
        """Start the server again where it, or its folder, has gone while this process used it."""
        with _guard:
            self._forget()
            self._join()
            _joined[self.folder] = self

    def create_database(self, name: str) -> None:
        """Create the database unless it exists."""
        with connect(self.sockets) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
            if known.fetchone():
                return
            statement = psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name))
            # Another process may be creating it in this very moment.
            with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                connection.execute(statement)

    def stop(self) -> None:
        """Leave the server, and stop it unless another process still uses it."""
        with _guard:
            _joined.pop(self.folder, None)
            if not self.folder.exists():
                self._forget()
                return
            with _locked(self.folder / "lock"):
                if self._is_the_last():
                    self._cluster.stop()
                self._forget()

    def _join(self) -> None:
        _make_folder(self.folder)
        with _locked(self.folder / "lock"):
            users = _open(self.folder / "users")
            try:
                fcntl.flock(users, fcntl.LOCK_SH)
                self.sockets = self._cluster.start()
            except BaseException:
                os.close(users)
                raise
            self._users = users

    def _is_the_last(self) -> bool:
        """Tell whether nobody else uses the server. Our own share is given up by asking."""
        if self._users is None or not _is_the_file(self._users, self.folder / "users"):
            # The folder was deleted and made anew: its server is other processes' now.
            return False
        try:
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _forget(self) -> None:
        if self._users is not None:
            os.close(self._users)
            self._users = None


def start(folder: Path) -> Server:
    """Return this process's use of the server in the folder, starting the server if need be.

    Cheap after the first call. Raises ServerFailed when PostgreSQL will not run, and
    ImproperlyConfigured when it never can, both with a sentence that says what to do.
    """
    folder = folder.expanduser().resolve()
    with _guard:
        server = _joined.get(folder)
        if server is None:
            server = Server(folder)
            server._join()
            _joined[folder] = server
        return server


def stop_all() -> None:
    """Leave every server this process uses; runs by itself when the process ends."""
    for server in list(_joined.values()):
        server.stop()


def _make_folder(folder: Path) -> None:
    try:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            hand_over(folder, account_for(folder))
        writable = all(os.access(path, os.W_OK) for path in (folder, *folder.iterdir()))
    except OSError:
        writable = False
    if not writable:
        raise ImproperlyConfigured(
            f"{folder}, the folder of the private PostgreSQL, cannot be written by this user. If "
            "another one ran this before, maybe root, run it as the same again or delete that "
            "folder; else set EMBEDDED_POSTGRES_DIR to another folder, or set DATABASE_URL."
        )


def _open(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    hand_over(path, account_for(path.parent))
    return file


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file for the length of a block; raise ServerFailed when others never let go."""
    deadline = time.monotonic() + _TURN_DEADLINE_SECONDS
    while True:
        file = _open(path)
        try:
            _wait_for(file, path, deadline)
            # Whoever deleted the folder meanwhile left us with a lock that binds nobody.
            if _is_the_file(file, path):
                yield
                return
        finally:
            os.close(file)


def _wait_for(file: int, path: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise ServerFailed(
                    f"Another process has held {path} for {_TURN_DEADLINE_SECONDS} seconds, as if "
                    "it were starting or stopping PostgreSQL. It may be suspended; see `jobs`, "
                    f"or `fuser {path}`."
                ) from None
            time.sleep(0.01)


def _is_the_file(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _forget_after_fork() -> None:
    """Leave the server to the parent. A forked child that needs it joins by its own connection."""
    global _guard  # noqa: PLW0603  # the parent's lock may be held by a thread we do not have
    _guard = threading.RLock()
    for server in _joined.values():
        server._forget()
    _joined.clear()


_guard = threading.RLock()
_joined: dict[Path, Server] = {}
os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(stop_all)
