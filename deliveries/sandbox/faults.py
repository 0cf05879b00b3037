"""Deciding, one hand-over at a time, which fault it meets. Exactly N of each, under any race."""

import random
import threading
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from deliveries.sandbox.answers import HTML_TYPE, Answer, error_answer, redirect
from deliveries.sandbox.switches import FailNext, Switches


class Act(Enum):
    ANSWER = "answer something else"
    DROP = "cut the connection without an answer"
    HANG = "never answer"
    CUT_MID_ANSWER = "cut the connection in the middle of the answer"


@dataclass(frozen=True)
class Fault:
    act: Act
    answer: Answer | None = None


# What a proxy or a hotel's login page says in the provider's place.
_PROXY_PAGE = Answer(
    200,
    b"<!doctype html><title>Welcome</title><h1>Please log in to the network</h1>\n",
    HTML_TYPE,
)
_DOWN = error_answer(503, "unavailable", "The provider is down.")
_FAILED_AT_RANDOM = error_answer(503, "unavailable", "The provider failed at random.")


class Faults:
    """The fault switches. `set()` replaces all of them, `add()` leaves the others as they are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._switches = Switches()
        self._random = random.Random(0)  # noqa: S311 - dice that can be thrown again

    def set(self, /, **values: Any) -> None:
        """Turn these switches on and all others off; raise InvalidSwitch and change nothing."""
        with self._lock:
            self._put(Switches().changed(values), seeded="random_failure" in values)

    def add(self, /, **values: Any) -> None:
        """Change these switches only; raise InvalidSwitch and change nothing."""
        with self._lock:
            self._put(self._switches.changed(values), seeded="random_failure" in values)

    def clear(self) -> None:
        """Everything works again."""
        self.set()

    def snapshot(self) -> dict[str, Any]:
        """Return every switch, the counts being what is left of them."""
        with self._lock:
            return self._switches.as_json()

    @property
    def delay_seconds(self) -> float:
        return self._switches.delay_ms / 1000

    @property
    def drip_seconds(self) -> float | None:
        drip = self._switches.drip
        return None if drip is None else drip.interval_ms / 1000

    def refuses(self, address: str) -> bool:
        return address.lower() in self._switches.fail_addresses

    def before_handling(self) -> Fault | None:
        """Take the fault of a hand-over that has just arrived: it will not be stored.

        One fault each: counted ones first, then `down`, then the random failure.
        """
        with self._lock:
            if self._take("drop_before_next"):
                return Fault(Act.DROP)
            if self._take("hang_next"):
                return Fault(Act.HANG)
            answer = self._answer_instead()
        return None if answer is None else Fault(Act.ANSWER, answer)

    def after_acceptance(self) -> Fault | None:
        """Take the fault of a hand-over that was accepted, now or before (a replay)."""
        with self._lock:
            if self._take("drop_after_accept_next"):
                return Fault(Act.DROP)
            if self._take("hang_after_accept_next"):
                return Fault(Act.HANG)
            if self._take("cut_mid_answer_next"):
                return Fault(Act.CUT_MID_ANSWER)
        return None

    def _put(self, switches: Switches, *, seeded: bool) -> None:
        self._switches = switches
        if seeded and switches.random_failure is not None:
            self._random = random.Random(switches.random_failure.seed)  # noqa: S311

    def _answer_instead(self) -> Answer | None:
        if self._switches.fail_next is not None:
            return self._fail(self._switches.fail_next)
        if self._take("html_200_next"):
            return _PROXY_PAGE
        if self._take("redirect_next"):
            # 307 keeps method and body: a client that follows it is seen, as a second request.
            return redirect("/messages", status=307)
        if self._switches.down:
            return _DOWN
        rule = self._switches.random_failure
        if rule is not None and self._random.random() < rule.rate:
            return _FAILED_AT_RANDOM
        return None

    def _fail(self, fail: FailNext) -> Answer:
        left = replace(fail, count=fail.count - 1) if fail.count > 1 else None
        self._switches = replace(self._switches, fail_next=left)
        headers = () if fail.retry_after is None else (("Retry-After", str(fail.retry_after)),)
        return error_answer(fail.status, fail.name, "A fault switch is on.", headers=headers)

    def _take(self, name: str) -> bool:
        left: int = getattr(self._switches, name)
        if left:
            changes: dict[str, Any] = {name: left - 1}
            self._switches = replace(self._switches, **changes)
        return left > 0
