"""The demo from start to stop."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from invoicehub.demo.children import Child, show_outputs
from invoicehub.demo.screen import Screen

READY_DEADLINE_SECONDS = 60
PAUSES_SECONDS = (1, 2, 5, 10, 30)
# A process that ran for this long was well; its next end counts as the first one.
WELL_SECONDS = 60
# `timeout` and others signal the whole process group, and make passes the same signal on.
ECHO_SECONDS = 1.0


class ChildFailed(Exception):
    """A process that the demo needs has ended, or does not answer; the message says which."""


@dataclass
class Show:
    """The running demo: its processes, in the order of their start."""

    children: list[Child]
    screen: Screen
    signals: int = 0
    _signalled_at: float = -math.inf

    def heed(self, _number: int, _frame: FrameType | None) -> None:
        """Take a signal: the first asks to stop, a second to stop at once, a third gives up."""
        if time.monotonic() - self._signalled_at < ECHO_SECONDS:
            return
        self._signalled_at = time.monotonic()
        self.signals += 1
        if self.signals > 2:
            raise KeyboardInterrupt

    @property
    def over(self) -> bool:
        return self.signals > 0 or self.screen.closed

    def run(self, *, ready: Callable[[], None]) -> None:
        """Start everything, call `ready` when it answers, watch it until told to stop.

        Raises ChildFailed. Stops all processes in every case.
        """
        try:
            self._start()
            if not self.over:
                ready()
            while not self.over:
                self._watch()
                self._pass_time()
        finally:
            self._stop()

    def _start(self) -> None:
        for child in self.children:
            if not self.over:
                child.start()
        deadline = time.monotonic() + READY_DEADLINE_SECONDS
        for child in self.children:
            self._wait_for(child, deadline)

    def _wait_for(self, child: Child, deadline: float) -> None:
        while not self.over:
            if not child.lives:
                raise _failure(child)
            if child.answers(child):
                return
            if time.monotonic() > deadline:
                raise ChildFailed(
                    f"The {child.name} does not answer after {READY_DEADLINE_SECONDS} seconds."
                )
            self._pass_time()

    def _watch(self) -> None:
        for child in self.children:
            if child.lives:
                child.forgive(WELL_SECONDS)
            elif not child.comes_back:
                raise _failure(child)
            elif child.due_again_at is None:
                self._announce_return(child)
            elif time.monotonic() >= child.due_again_at:
                child.start()

    def _announce_return(self, child: Child) -> None:
        pause = PAUSES_SECONDS[min(child.ends, len(PAUSES_SECONDS) - 1)]
        child.rest(pause)
        self.screen.say(f"The {child.name} {child.ending}. Starting another one in {pause} s.")

    def _stop(self) -> None:
        running = [child for child in reversed(self.children) if child.lives]
        if running:
            self.screen.say("Stopping: " + ", ".join(child.name for child in running) + " …")
        for child in running:
            self._stop_one(child)
        for child in self.children:
            child.close_output()

    def _stop_one(self, child: Child) -> None:
        child.ask_to_stop()
        deadline = time.monotonic() + child.stop_seconds
        while child.lives and time.monotonic() < deadline and self.signals < 2:
            self._pass_time()
        if child.lives:
            child.kill()
            self.screen.say(f"The {child.name} did not stop by itself and was ended.")

    def _pass_time(self) -> None:
        show_outputs(self.children, for_seconds=0.05)


def _failure(child: Child) -> ChildFailed:
    child.close_output()
    lines = [f"The {child.name} {child.ending}. Its last lines:", *child.tail]
    return ChildFailed("\n".join(lines))
