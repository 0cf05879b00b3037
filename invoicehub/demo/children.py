"""One process of the demo: started, watched, its output shown behind its name, stopped.

No threads: Linux signals a tethered process once for every thread of a parent that is killed,
and a second SIGTERM tells the worker to drop what it has in hand.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from invoicehub.demo import tether
from invoicehub.demo.screen import Screen

TAIL_LINES = 20


@dataclass(kw_only=True)
class Child:
    """A program, and the process that runs it now."""

    name: str
    command: list[str]
    environment: dict[str, str]
    folder: Path
    screen: Screen
    # Tells whether it does its work by now.
    answers: Callable[["Child"], bool]
    # What it may need to finish what it has in hand.
    stop_seconds: float
    # Started again when it ends by itself; the demo does not end with it.
    comes_back: bool = False

    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))
    ends: int = 0
    due_again_at: float | None = None
    _started_at: float = 0.0
    _process: subprocess.Popen[bytes] | None = None
    _unfinished_line: bytes = b""

    def start(self) -> None:
        self.tail.clear()
        self.due_again_at = None
        self._started_at = time.monotonic()
        # In a session of its own: Ctrl-C is for the demo, which stops its processes in order.
        self._process = subprocess.Popen(
            [sys.executable, tether.__file__, str(os.getpid()), *self.command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            bufsize=0,
        )
        if self.output is not None:
            os.set_blocking(self.output, False)

    @property
    def output(self) -> int | None:
        """The pipe with what it writes, until that has ended."""
        pipe = self._process.stdout if self._process else None
        return None if pipe is None or pipe.closed else pipe.fileno()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def lives(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        code = self._process.returncode if self._process else None
        if code is None:
            return "has not ended"
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with status {code}"

    def rest(self, seconds: float) -> None:
        """Note that it has ended, and when to start it again."""
        self.close_output()
        self.ends += 1
        self.due_again_at = time.monotonic() + seconds

    def forgive(self, seconds: float) -> None:
        """Forget earlier ends once it has run for so long."""
        if self.ends and time.monotonic() - self._started_at > seconds:
            self.ends = 0

    def ask_to_stop(self) -> None:
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """End it and what it has started: gunicorn's workers outlive their master for a while."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def show_output(self) -> None:
        """Show the lines it has written by now. Never waits."""
        while self.output is not None:
            try:
                written = os.read(self.output, 65536)
            except BlockingIOError:
                return
            self._show(written)
            if not written:
                self._close_pipe()

    def close_output(self) -> None:
        """Show what it wrote before its end. What it left behind may still hold the pipe."""
        self.show_output()
        self._close_pipe()

    def _close_pipe(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()
        self._show(b"\n" if self._unfinished_line else b"")

    def _show(self, written: bytes) -> None:
        *lines, self._unfinished_line = (self._unfinished_line + written).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace").rstrip("\r")
            self.tail.append(text)
            self.screen.say(text, name=self.name)


def show_outputs(children: Iterable[Child], *, for_seconds: float) -> None:
    """Show what the processes write, for so long or until the first of them has written."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            if child.output is not None:
                selector.register(child.output, selectors.EVENT_READ, child)
        if not selector.get_map():
            time.sleep(for_seconds)
        for key, _ in selector.select(for_seconds):
            key.data.show_output()
