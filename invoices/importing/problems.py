"""What is wrong with a file, by line: a bounded number of examples, and how many in all."""

import heapq
from collections import Counter
from dataclasses import dataclass, field

SHOWN = 50
_VALUE_SHOWN = 60


class Unreadable(Exception):
    """The file as a whole cannot be read; the text says why, and what to do."""


class BadValue(Exception):
    """A cell makes no sense; the text says why."""


@dataclass(frozen=True, kw_only=True, order=True)
class Problem:
    """One thing to mend. `column` is empty for what is wrong with the whole line."""

    line: int
    column: str = ""
    value: str = ""
    sentence: str


@dataclass
class Problems:
    """Collects problems without end, keeps those that stand first in the file.

    A million bad lines must not need a million problems' memory.
    """

    count: int = 0
    by_column: Counter[str] = field(default_factory=Counter)
    _kept: list[tuple[int, int, Problem]] = field(default_factory=list)

    def add(self, problem: Problem) -> None:
        self.count_only(problem.column, 1)
        # A heap of negated lines: its top is the one that stands last, and goes first.
        entry = (-problem.line, -self.count, problem)
        if len(self._kept) < SHOWN:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    def count_only(self, column: str, more: int) -> None:
        """Count problems of which no example is kept."""
        self.count += more
        self.by_column[column] += more

    def first(self) -> tuple[Problem, ...]:
        return tuple(problem for *_order, problem in sorted(self._kept, reverse=True))


def shown(text: str) -> str:
    """Return a cell as a page or terminal may show it: short, without control characters."""
    printable = "".join(character if character.isprintable() else "�" for character in text)
    return printable if len(printable) <= _VALUE_SHOWN else printable[: _VALUE_SHOWN - 1] + "…"
