"""Read from a font file which characters it has.

Only the `cmap` table, in the two formats that fonts of today use: 4 (the basic plane) and 12 (all
of Unicode). Source: OpenType 1.9.1, https://learn.microsoft.com/typography/opentype/spec/cmap.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_UNICODE_ENCODINGS = {(0, 3), (0, 4), (0, 6), (3, 1), (3, 10)}


def characters_of(path: Path, index: int = 0) -> set[int]:
    """Return the code points that a font file (or one font of a collection) has glyphs for."""
    with path.open("rb") as file:
        table = _table(file, b"cmap", index)
    offsets = set(_unicode_subtables(table))
    readers = {4: _basic_plane, 12: _all_planes}
    formats = {offset: struct.unpack_from(">H", table, offset)[0] for offset in offsets}
    # A font with both has the basic plane in both: the larger format is enough.
    best = max((format_ for format_ in formats.values() if format_ in readers), default=None)
    if best is None:
        raise ValueError(f"{path.name} has no character map that we can read.")
    return {
        character
        for offset, format_ in formats.items()
        if format_ == best
        for character in readers[best](table, offset)
    }


def _unicode_subtables(table: bytes) -> Iterator[int]:
    (count,) = struct.unpack_from(">H", table, 2)
    for record in range(count):
        platform, encoding, offset = struct.unpack_from(">HHL", table, 4 + 8 * record)
        if (platform, encoding) in _UNICODE_ENCODINGS:
            yield offset


def _all_planes(table: bytes, offset: int) -> Iterator[int]:
    (count,) = struct.unpack_from(">L", table, offset + 12)
    for group in range(count):
        first, last, glyph = struct.unpack_from(">LLL", table, offset + 16 + 12 * group)
        # Glyph 0 is "missing": only a group's first character can have it.
        yield from range(first + (glyph == 0), last + 1)


def _basic_plane(table: bytes, offset: int) -> Iterator[int]:
    (doubled,) = struct.unpack_from(">H", table, offset + 6)
    lasts, firsts, deltas, ranges = (
        struct.unpack_from(f">{doubled // 2}H", table, offset + start)
        for start in (14, 16 + doubled, 16 + 2 * doubled, 16 + 3 * doubled)
    )
    for segment, first in enumerate(firsts):
        range_at = offset + 16 + 3 * doubled + 2 * segment
        for character in range(first, min(lasts[segment], 0xFFFE) + 1):
            glyph = character
            if ranges[segment]:
                at = range_at + ranges[segment] + 2 * (character - first)
                (glyph,) = struct.unpack_from(">H", table, at)
            if glyph and (glyph + deltas[segment]) % 0x10000:
                yield character


def _table(file: BinaryIO, tag: bytes, index: int) -> bytes:
    start = 0
    if file.read(4) == b"ttcf":
        file.seek(12 + 4 * index)
        (start,) = struct.unpack(">L", file.read(4))
    file.seek(start + 4)
    (count,) = struct.unpack(">H", file.read(2))
    file.seek(start + 12)
    for _ in range(count):
        name, _checksum, offset, length = struct.unpack(">4sLLL", file.read(16))
        if name == tag:
            file.seek(offset)
            return file.read(length)
    raise ValueError(f"{file.name} has no {tag.decode()} table.")
