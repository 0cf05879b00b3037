"""What is attached to a stored message, as far as it can be read: what lies there may be broken."""

import base64
import binascii
from dataclasses import dataclass, field
from functools import cached_property

from deliveries.models import Message

DOWNLOAD = "application/octet-stream"
# What a browser shows without running anything of it as a page of ours: no HTML, no SVG, no XML.
_SHOWN = {
    "application/pdf": "application/pdf",
    "text/plain": "text/plain; charset=utf-8",
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
}
_LONGEST_NAME = 150


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """One attachment; its name and type are whatever was handed over."""

    place: int
    filename: str
    content_type: str
    encoded: object = field(repr=False)

    @cached_property
    def content(self) -> bytes | None:
        """Its bytes; None if what is stored is not base64."""
        if not isinstance(self.encoded, str):
            return None
        try:
            return base64.b64decode(self.encoded, validate=True)
        except (binascii.Error, ValueError):
            return None

    @property
    def size(self) -> int | None:
        return None if self.content is None else len(self.content)

    @property
    def served_type(self) -> str:
        """The content type to answer with: one of our own words, never the stored one."""
        bare = self.content_type.partition(";")[0].strip().lower()
        return _SHOWN.get(bare, DOWNLOAD)

    @property
    def is_shown(self) -> bool:
        return self.served_type != DOWNLOAD

    @property
    def safe_filename(self) -> str:
        """Its name for a header, which a line break would end; the end is kept, with the suffix."""
        printable = "".join(c if c.isprintable() else "_" for c in self.filename)
        return printable[-_LONGEST_NAME:] or f"attachment-{self.place + 1}"


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    stored = message.attachments if isinstance(message.attachments, list) else []
    return tuple(_attachment(place, part) for place, part in enumerate(stored))


def _attachment(place: int, part: object) -> Attachment:
    values = part if isinstance(part, dict) else {}
    return Attachment(
        place=place,
        filename=str(values.get("filename") or ""),
        content_type=str(values.get("content_type") or ""),
        encoded=values.get("content"),
    )
