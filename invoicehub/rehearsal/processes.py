"""Real processes of the product, started, watched and killed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from django.conf import settings

from invoicehub.demo import tether
from invoicehub.rehearsal.waiting import wait_for


class Process:
    """A child in a session of its own, its output in a file; it ends when we do.

    Start it from a thread that lives on: the tether pulls when that thread ends.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        code: Path = settings.BASE_DIR,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                [sys.executable, tether.__file__, str(os.getpid()), *command],
                cwd=code,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL the whole session: no handler, no clean-up, no last words."""
        if self.running:
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()

    def signal(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def wait(self, *, seconds: float = 60) -> int:
        """Return the exit code; raise `NotInTime` with the log's tail in mind."""
        wait_for(lambda: not self.running, f"{self.name} ends, see {self.log}", seconds=seconds)
        return self._popen.wait()

    def terminate(self, *, seconds: float = 60) -> int:
        """SIGTERM, and return the exit code."""
        if self.running:
            self.signal(signal.SIGTERM)
        return self.wait(seconds=seconds)


def manage(*arguments: str) -> list[str]:
    return [sys.executable, "manage.py", *arguments]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
