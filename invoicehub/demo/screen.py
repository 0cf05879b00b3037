"""What the demo writes: its own lines, and those of its processes behind their names."""

import sys
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console
from rich.table import Table

_COLOURS = {"web": 36, "worker": 33, "inbox": 35, "demo": 32}
_WIDTH = max(len(name) for name in _COLOURS)


@dataclass
class Screen:
    """Writes whole lines."""

    stream: TextIO = field(default_factory=lambda: sys.stdout)
    # Set once nobody reads our output any more: the pipe or the terminal behind it has gone.
    closed: bool = False

    def __post_init__(self) -> None:
        self._in_colour = self.stream.isatty()

    def say(self, text: str, *, name: str = "demo") -> None:
        """Write each line of the text behind a name."""
        margin = f"{name:>{_WIDTH}} │ "
        if self._in_colour:
            margin = f"\x1b[{_COLOURS.get(name, 0)}m{margin}\x1b[0m"
        self._write("".join(f"{margin}{line}\n" for line in text.splitlines()))

    def show(self, table: Table) -> None:
        """Write a table, in colour where that is seen."""
        console = Console(file=self.stream, width=None if self._in_colour else 100)
        with console.capture() as drawn:
            console.print()
            console.print(table)
        self._write(drawn.get())

    def _write(self, text: str) -> None:
        if self.closed:
            return
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):
            self.closed = True
