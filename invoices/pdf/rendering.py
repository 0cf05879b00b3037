"""Set an invoice document with typst.

The template is code and gets the document as JSON through `sys.inputs`: data there, never markup.
Everything is formatted here, in the document's locale; the template only places strings.

The PDF is PDF/A-3a (an archive can keep it, tagged) and PDF/UA-1 (a screen reader can read it).
Both forbid a character without a glyph, so that typst refuses what would be an empty box.
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, time
from functools import cache
from pathlib import Path

import typst

from invoices.money import UnknownCurrency, UnknownLocale
from invoices.pdf.content import content_of
from invoices.pdf.document import InvoiceDocument
from invoices.pdf.fonts import font_set

logger = logging.getLogger(__name__)

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
        return _even_without_logo(_pdf, document)


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


def _pdf(document: InvoiceDocument) -> bytes:
    return typst.compile(
        _template(),
        format="pdf",
        pdf_standards=["a-3a", "ua-1"],
        font_paths=font_set().fonts,
        sys_inputs=_inputs(document),
        timestamp=_timestamp(document),
    )


def _even_without_logo(
    make: Callable[[InvoiceDocument], bytes], document: InvoiceDocument
) -> bytes:
    """A picture that typst cannot read is no reason to keep an invoice from its customer."""
    try:
        return make(document)
    except BaseException as error:
        if document.logo is None or not (isinstance(error, typst.TypstError) or _is_panic(error)):
            raise
        logger.warning("logo left out of a PDF", extra={"reason": str(error)[:500]})
        return make(replace(document, logo=None))


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
        if not _is_panic(error):
            raise
        raise InvoiceNotRenderable(
            f"The PDF of invoice {document.number} could not be made: typst broke down."
        ) from error


def _is_panic(error: BaseException) -> bool:
    return type(error).__name__ == "PanicException"


def _inputs(document: InvoiceDocument) -> dict[str, str]:
    inputs = {"document": json.dumps(content_of(document))}
    if document.logo is not None:
        # An input is text, and typst has no base64: the bytes go as numbers.
        inputs["logo"] = json.dumps(list(document.logo), separators=(",", ":"))
    return inputs


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
