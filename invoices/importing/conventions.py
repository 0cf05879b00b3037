"""How one file writes dates and numbers: told by all of its lines, or else asked for."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from invoices.importing import columns, values
from invoices.importing.problems import Problem, shown
from invoices.importing.reading import Layout, Row


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a person says about a file, where it does not tell by itself."""

    delimiter: str | None = None
    dates: values.Order | None = None
    decimal: values.Mark | None = None
    skip_existing: bool = False


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """How the file is read. `undecided` names what a person must say first: dates, decimal."""

    dates: values.Order | None
    decimal: values.Mark
    undecided: frozenset[str] = frozenset()


@dataclass
class _Evidence:
    """Which ways of writing are left, seen what was seen; and where it first was unclear."""

    left: frozenset[str]
    unclear: Problem | None = None

    def hear(self, possible: frozenset[str], where: tuple[Row, str, str]) -> None:
        if not possible:
            return
        row, column, text = where
        if len(possible) > 1 and self.unclear is None:
            self.unclear = Problem(line=row.line, column=column, value=shown(text), sentence="")
        # What fits neither way is a bad value, found where values are read.
        self.left &= possible


@dataclass
class Survey:
    """Listens to a file's lines, and knows at the end how it writes."""

    layout: Layout
    options: Options
    _dates: _Evidence = field(default_factory=lambda: _Evidence(frozenset({"dmy", "mdy"})))
    _marks: _Evidence = field(default_factory=lambda: _Evidence(frozenset({",", "."})))

    def hear(self, rows: Iterable[Row]) -> None:
        """Look at every date and number; nothing is looked at that a person said already."""
        dates = [] if self.options.dates else self._places(columns.DATES)
        numbers = [] if self.options.decimal else self._places(columns.NUMBERS)
        for row in rows:
            width = len(row.cells)
            for place, name in dates:
                if place < width and (text := row.cells[place]):
                    self._dates.hear(values.date_orders(text), (row, name, text))
            for place, name in numbers:
                if place < width and values.is_telling(text := row.cells[place]):
                    bare = text.strip().removesuffix("%")
                    self._marks.hear(values.decimal_marks(bare), (row, name, text))

    def _places(self, names: tuple[str, ...]) -> list[tuple[int, str]]:
        return [(self.layout.names.index(n), n) for n in names if self.layout.has(n)]

    def unclear(self) -> list[Problem]:
        """Return what must be said by a person before the file can be read."""
        found = []
        if problem := self._open(self._dates, self.options.dates):
            sentence = _("Day first or month first? The file does not tell: say which.")
            found.append(_with(problem, sentence))
        if problem := self._open(self._marks, self.options.decimal):
            sentence = _("Is this mark a decimal mark, or does it part thousands? Say which.")
            found.append(_with(problem, sentence))
        return found

    def conventions(self) -> Conventions:
        dates = self.options.dates or self._decided(self._dates)
        mark = self.options.decimal or self._decided(self._marks) or "."
        undecided = {
            "dates": self._open(self._dates, self.options.dates),
            "decimal": self._open(self._marks, self.options.decimal),
        }
        return Conventions(
            dates=dates,  # type: ignore[arg-type]
            decimal=mark,  # type: ignore[arg-type]
            undecided=frozenset(name for name, problem in undecided.items() if problem),
        )

    @staticmethod
    def _decided(evidence: _Evidence) -> str | None:
        return next(iter(evidence.left)) if len(evidence.left) == 1 else None

    def _open(self, evidence: _Evidence, said: str | None) -> Problem | None:
        """Return where it is unclear, if nothing decides it; conflicting evidence does not."""
        return None if said or self._decided(evidence) else evidence.unclear


def _with(problem: Problem, sentence: str) -> Problem:
    return Problem(line=problem.line, column=problem.column, value=problem.value, sentence=sentence)
