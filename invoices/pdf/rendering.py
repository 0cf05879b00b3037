"""Set an invoice document with typst.

The template is code and gets the document as JSON through `sys.inputs`: data there, never markup.
Everything is formatted here, in the document's locale; the template only places strings.

The PDF is PDF/A-3a (an archive can keep it, tagged) and PDF/UA-1 (a screen reader can read it).
Both forbid a character without a glyph, so that typst refuses what would be an empty box.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, time
from functools import cache
from pathlib import Path

import typst

from invoices.money import UnknownCurrency, UnknownLocale
from invoices.pdf.content import content_of
from invoices.pdf.document import InvoiceDocument
from invoices.pdf.fonts import font_set

_TEMPLATE = Path(__file__).with_name("invoice.typ")


class InvoiceNotRenderable(Exception):
    """No PDF can be made of this document; `reason` is a sentence for the person who sent it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def render(document: InvoiceDocument) -> bytes:
    """Make the PDF. Equal documents make equal bytes; any number of threads may call at once.

    Raises InvoiceNotRenderable.
    """
    with _failing_as_not_renderable(document):
        return typst.compile(
            _template(),
            format="pdf",
            pdf_standards=["a-3a", "ua-1"],
            font_paths=font_set().fonts,
            sys_inputs=_inputs(document),
            timestamp=_timestamp(document),
        )


def render_png(document: InvoiceDocument, *, dots_per_inch: float = 96) -> list[bytes]:
    """Make a PNG of each page, for a preview. Raises InvoiceNotRenderable."""
    with _failing_as_not_renderable(document):
        pages: bytes | list[bytes] = typst.compile(
            _template(),
            format="png",
            ppi=dots_per_inch,
            font_paths=font_set().fonts,
            sys_inputs=_inputs(document),
        )
    # typst returns a list only where there is more than one page; its stub says bytes.
    return pages if isinstance(pages, list) else [pages]


@contextmanager
def _failing_as_not_renderable(document: InvoiceDocument) -> Iterator[None]:
    try:
        _check(document)
        yield
    except (UnknownCurrency, UnknownLocale) as error:
        raise InvoiceNotRenderable(str(error)) from error
    except typst.TypstError as error:
        raise InvoiceNotRenderable(
            f"The PDF of invoice {document.number} could not be made: {error.message}"
        ) from error
    except BaseException as error:
        # A panic in Rust arrives as a BaseException, which would end the worker's thread.
        if type(error).__name__ != "PanicException":
            raise
        raise InvoiceNotRenderable(
            f"The PDF of invoice {document.number} could not be made: typst broke down."
        ) from error


def _inputs(document: InvoiceDocument) -> dict[str, str]:
    return {"document": json.dumps(content_of(document))}


def _check(document: InvoiceDocument) -> None:
    mistake = document.mistake_in_the_sums()
    if mistake is not None:
        raise InvoiceNotRenderable(f"Invoice {document.number} was not printed: {mistake}.")


@cache
def _template() -> bytes:
    return _TEMPLATE.read_bytes()


def _timestamp(document: InvoiceDocument) -> datetime:
    created_at = document.created_at or datetime.combine(document.issued_on, time(), UTC)
    return created_at.astimezone(UTC)
