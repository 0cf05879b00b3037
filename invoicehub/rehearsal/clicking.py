"""People who keep clicking Send while processes come and go, as browsers and proxies would."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import requests

from invoicehub.rehearsal.fleet import Person
from invoicehub.rehearsal.waiting import wait_for

# How long somebody goes on who meets a server that is just being restarted.
PATIENCE_SECONDS = 60
RETRY_SECONDS = 0.1


class Clicks:
    """Some people who click Send on these invoices, one after the other.

    They do not go beyond the share that `let` allows, but click again on what they have clicked on
    before. Connections that are refused or cut are tried again; what was answered is in `answers`.
    """

    def __init__(
        self, person: Person, invoices: Sequence[int], *, people: int = 4, pause_seconds: float
    ) -> None:
        self.answers: list[requests.Response] = []
        self.not_answered = 0
        self._invoices = list(invoices)
        self._clicked = self._allowed = 0
        self._turn = threading.Lock()
        self._pause_seconds = pause_seconds
        self._pause = threading.Event()
        self._pool = ThreadPoolExecutor(people)
        self._person = person
        self._people = people

    def __enter__(self) -> Self:
        twins = [self._person.twin() for _ in range(self._people)]
        self._ends = [self._pool.submit(self._click_on_all, twin) for twin in twins]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._allowed = len(self._invoices)
        self._pool.shutdown()
        if kind is None:
            for end in self._ends:
                end.result()

    def let(self, share: float) -> None:
        """Allow so much of all to be clicked on, and wait until half of what is new has been."""
        before, self._allowed = self._allowed, round(share * len(self._invoices))
        wanted = (before + self._allowed) // 2
        wait_for(lambda: self._clicked >= wanted, f"{wanted} are clicked on", seconds=120)

    def _click_on_all(self, person: Person) -> None:
        while (invoice := self._next()) is not None:
            self.answers.append(self._until_answered(person, invoice))
            self._pause.wait(self._pause_seconds)

    def _next(self) -> int | None:
        """Return a new invoice; where none is allowed, one again; None at the end."""
        with self._turn:
            if self._clicked < self._allowed:
                self._clicked += 1
                return self._invoices[self._clicked - 1]
            if self._clicked == len(self._invoices):
                return None
            return self._invoices[len(self.answers) % max(1, self._clicked)]

    def _until_answered(self, person: Person, invoice: int) -> requests.Response:
        def click() -> requests.Response | None:
            try:
                return person.send(invoice)
            except requests.ConnectionError:
                self.not_answered += 1
                return None

        # A response is false where its status is an error: that is an answer all the same.
        answered: list[requests.Response] = wait_for(
            lambda: [answer] if (answer := click()) is not None else [],
            f"invoice {invoice} is answered",
            seconds=PATIENCE_SECONDS,
            every=RETRY_SECONDS,
        )
        return answered[0]
