"""Waiting for a condition, with a deadline, instead of sleeping and hoping."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

_pause = threading.Event()


class NotInTime(AssertionError):
    """What was waited for did not happen before the deadline."""


def wait_for(
    condition: Callable[[], Found], what: str, *, seconds: float = 30, every: float = 0.02
) -> Found:
    """Return the condition's first true value; raise `NotInTime` naming what did not happen."""
    until = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        if time.monotonic() > until:
            raise NotInTime(f"Not within {seconds:g} s: {what}.")
        _pause.wait(every)
