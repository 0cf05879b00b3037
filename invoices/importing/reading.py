"""Reading a CSV file that some other program wrote: its encoding, delimiter, header and lines."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from invoices.importing import columns
from invoices.importing.problems import BadValue, Problem, Unreadable, shown

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}

# What one cell may hold; also how far a quotation mark that is never closed is followed.
_LONGEST_CELL = 100_000
_LONGEST_HEADER = 100_000
_PIECE = 1 << 20
_TICK_EVERY = 500

_NOT_TEXT = (
    (b"PK\x03\x04", "an Excel or OpenDocument workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "a compressed file"),
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)

Tick = Callable[[int], None]


@dataclass(frozen=True)
class Source:
    """A file's bytes, to be read several times: `path`, or `content` that is in memory already."""

    path: Path | None = None
    content: bytes = b""

    def open(self) -> BinaryIO:
        return self.path.open("rb") if self.path else io.BytesIO(self.content)

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path else len(self.content)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a file is written, and which of its columns is which."""

    encoding: str
    encoding_name: str
    delimiter: str
    header_line: int
    # The name of each column, in the file's order; None for one that we do not know.
    names: tuple[str | None, ...]
    unknown: tuple[str, ...]

    def has(self, name: str) -> bool:
        return name in self.names


@dataclass(frozen=True, slots=True)
class Row:
    """A line's cells; `line` is where it begins in the file, counted from 1."""

    line: int
    cells: list[str]


class BadHeader(Exception):
    """The first line does not name what is needed; the problems say what is missing."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("bad header")
        self.problems = problems


class BadLine(Exception):
    """From here on the file cannot be told apart into cells."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence)
        self.problem = problem


def examine(source: Source, *, delimiter: str | None = None, tick: Tick = lambda _: None) -> Layout:
    """Find out how the file is written; reads all of it once, for its encoding.

    Raises Unreadable, BadHeader, BadLine.
    """
    encoding, encoding_name = _encoding(source, tick)
    line, text, named = _header(source, encoding)
    delimiter = delimiter or named or _delimiter(text)
    try:
        headings = next(csv.reader([text], delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration):
        raise BadLine(
            Problem(line=line, sentence=_("The header's quotation marks do not match."))
        ) from None
    names = tuple(columns.known_as(heading) for heading in headings)
    unknown = tuple(
        shown(heading) for heading, name in zip(headings, names, strict=True) if name is None
    )
    _refuse_bad_header(line, names, unknown)
    return Layout(
        encoding=encoding,
        encoding_name=encoding_name,
        delimiter=delimiter,
        header_line=line,
        names=names,
        unknown=tuple(heading for heading in unknown if heading.strip()),
    )


def rows(source: Source, layout: Layout, *, tick: Tick = lambda _: None) -> Iterator[Row]:
    """Yield the lines below the header, empty ones left out; `tick` hears the bytes read.

    Raises BadLine where quotation marks do not match.
    """
    csv.field_size_limit(_LONGEST_CELL)
    with source.open() as raw, io.TextIOWrapper(raw, layout.encoding, newline="") as text:
        for _skipped in range(layout.header_line):
            text.readline()
        reader = csv.reader(text, delimiter=layout.delimiter, strict=True)
        before = 0
        while (cells := _next(reader, layout, before)) is not None:
            line, before = layout.header_line + before + 1, reader.line_num
            if any(cells):
                yield Row(line, cells)
            if before % _TICK_EVERY < 2:
                tick(raw.tell())


def _next(reader: Iterator[list[str]], layout: Layout, before: int) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        line = layout.header_line + before + 1
        raise BadLine(Problem(line=line, sentence=_csv_sentence(str(error)))) from None


def _csv_sentence(error: str) -> str:
    if "field larger" in error or "unexpected end" in error:
        return _("A quotation mark opens here and is never closed (or a cell is far too long).")
    return _("After a closing quotation mark must come the delimiter: double quotes in a cell.")


# The encoding ------------------------------------------------------------------------------------


def _encoding(source: Source, tick: Tick) -> tuple[str, str]:
    with source.open() as raw:
        head = raw.read(4096)
    _refuse_what_is_no_text(head)
    for mark, encoding, name in _MARKS:
        if head.startswith(mark):
            if not _decodes(source, encoding, tick):
                raise Unreadable(
                    _("The file begins as %(name)s, but is not: save it again as CSV UTF-8.")
                    % {"name": name}
                )
            return encoding, name
    if head.count(0) > len(head) // 4:
        raise Unreadable(_("The file is no text that can be read: save it as CSV UTF-8."))
    if _decodes(source, "utf-8", tick):
        return "utf-8", "UTF-8"
    if _decodes(source, "cp1252", tick):
        return "cp1252", "Windows-1252"
    return "latin-1", "Latin-1"


def _refuse_what_is_no_text(head: bytes) -> None:
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise Unreadable(_("The file is empty."))
    for beginning, what in _NOT_TEXT:
        if head.startswith(beginning):
            raise Unreadable(
                _("The file is %(what)s, not CSV: save it as CSV first.") % {"what": what}
            )


def _decodes(source: Source, encoding: str, tick: Tick) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with source.open() as raw:
        try:
            while piece := raw.read(_PIECE):
                decoder.decode(piece)
                tick(raw.tell())
            decoder.decode(b"", final=True)
        except UnicodeError:
            return False
    return True


# The header --------------------------------------------------------------------------------------


def _header(source: Source, encoding: str) -> tuple[int, str, str | None]:
    """Return the header's line number and text, and the delimiter if Excel's "sep=" names it."""
    named = None
    with source.open() as raw, io.TextIOWrapper(raw, encoding, newline="") as text:
        for line in range(1, 100):
            found = text.readline(_LONGEST_HEADER)
            if len(found) == _LONGEST_HEADER:
                raise Unreadable(_("The first line is too long to be a header: is this CSV?"))
            if mark := re.fullmatch(r'"?sep=(.)"?', found.strip("\r\n"), re.IGNORECASE):
                named = mark[1] if mark[1] in DELIMITERS else None
            elif found.strip("\r\n \t;,|"):
                return line, found, named
    raise Unreadable(_("The file has no header."))


def _delimiter(header: str) -> str:
    """Return the delimiter that makes most of the header known columns."""

    def known(delimiter: str) -> tuple[int, int]:
        headings = header.split(delimiter)
        return sum(columns.known_as(one) is not None for one in headings), len(headings)

    return max(DELIMITERS, key=known)


def _refuse_bad_header(line: int, names: tuple[str | None, ...], unknown: tuple[str, ...]) -> None:
    found = [
        Problem(line=line, column=name, sentence=_("The column is missing."))
        for name in columns.REQUIRED
        if name not in names
    ]
    if not {"amount", "unit_price"} & set(names):
        sentence = _("A column amount or unit_price is needed.")
        found.append(Problem(line=line, column="amount", sentence=sentence))
    found += [
        Problem(line=line, column=name, sentence=_("Two columns mean this: remove one."))
        for name in dict.fromkeys(name for name in names if name and names.count(name) > 1)
    ]
    if found and unknown:
        headings = ", ".join(f"“{heading}”" for heading in unknown[:10])
        found.append(
            Problem(line=line, sentence=_("Not understood: %(headings)s.") % {"headings": headings})
        )
    if found:
        raise BadHeader(found)


def named_delimiter(text: str) -> str:
    """Return the delimiter that an option names; raises BadValue."""
    by_name = {name: mark for mark, name in DELIMITERS.items()}
    mark = by_name.get(text.lower(), "\t" if text == r"\t" else text)
    if mark not in DELIMITERS:
        raise BadValue(
            _("The delimiter must be one of: %(names)s.")
            % {"names": ", ".join(DELIMITERS.values())}
        )
    return mark
