"""Invoices to print, and what their PDF says and shows."""

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pypdf
import pytest

from invoices.money import Line, totals
from invoices.pdf import (
    DocumentLine,
    InvoiceDocument,
    Party,
    missing_glyphs,
    render,
    render_png,
)

CUNEIFORM = "\U00012000"


LAGOS = InvoiceDocument(
    number="INV-0001",
    issued_on=date(2025, 11, 29),
    due_on=date(2025, 12, 13),
    currency="NGN",
    locale="en-NG",
    sender=Party(
        name="Adaeze Okafor & Partners Ltd",
        address_lines=("14 Broad Street", "Lagos Island", "Lagos 102273"),
        email="accounts@adaezeokafor.example",
        tax_id="TIN 20418837-0001",
    ),
    customer=Party(
        name="Kuramo Foods Plc",
        address_lines=("27B Adeola Odeku Street", "Victoria Island"),
        tax_id="TIN 10993321-0001",
    ),
    lines=(),
    taxes=(),
    net_minor=4_500_000,
    amount_minor=4_500_000,
    payment_terms="Payment is due within 14 days.",
    payment_details="Guaranty Trust Bank\nAccount number: 0123456789",
    notes="Thank you for your business.",
)


def line(
    description: str, unit_price_minor: int, quantity: str = "1", tax_rate: str = "7.5"
) -> DocumentLine:
    rate, amount = Decimal(tax_rate), Decimal(quantity)
    sums = totals([Line(quantity=amount, unit_price_minor=unit_price_minor, tax_rate=rate)])
    return DocumentLine(
        description=description,
        quantity=amount,
        unit_price_minor=unit_price_minor,
        net_minor=sums.net_minor,
        tax_rate=rate,
    )


def invoice_of(*lines: DocumentLine, discount: str = "0") -> InvoiceDocument:
    rate = Decimal(discount)
    sums = totals(lines, discount_rate=rate)
    return replace(
        LAGOS,
        lines=lines,
        taxes=sums.taxes,
        net_minor=sums.net_minor,
        discount_rate=rate,
        discount_minor=sums.discount_minor,
        amount_minor=sums.gross_minor,
    )


def pages_of(document: InvoiceDocument) -> list[str]:
    reader = pypdf.PdfReader(io.BytesIO(render(document)))
    return [page.extract_text() for page in reader.pages]


def text_of(document: InvoiceDocument) -> str:
    """Everything the PDF says, as somebody who copies it gets it, line breaks as spaces."""
    text = " ".join(pages_of(document)).replace("\N{ZERO WIDTH SPACE}", "")
    return " ".join(text.split())


def rows_of(png: bytes) -> Iterator[bytes]:
    """Decode the rows of a PNG as typst writes it: eight bits, RGBA, not interlaced."""
    width, _height, depth, colour, *_ = struct.unpack_from(">IIBB", png, 16)
    assert (depth, colour) == (8, 6)
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    pixels, previous = zlib.decompress(data), bytearray(4 * width)
    for start in range(0, len(pixels), 4 * width + 1):
        previous = unfiltered(pixels[start], pixels[start + 1 : start + 1 + 4 * width], previous)
        yield bytes(previous)


def unfiltered(method: int, row: bytes, above: bytearray) -> bytearray:
    out = bytearray(row)
    for i, value in enumerate(row):
        left, up, corner = (out[i - 4], above[i], above[i - 4]) if i > 3 else (0, above[i], 0)
        nearest = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
        out[i] = (value + (0, left, up, (left + up) // 2, nearest)[method]) % 256
    return out


def ink_beyond_the_right_margin(document: InvoiceDocument) -> list[int]:
    """Return the numbers of the pages on which something stands right of the text area."""
    beyond = []
    for number, png in enumerate(render_png(document, dots_per_inch=36), start=1):
        rows = list(rows_of(png))
        # A4 is 210 mm wide and the margin 20 mm; the coloured band at the top of the page is meant.
        first = 4 * (len(rows[0]) // 4 * 191 // 210)
        if any(set(row[first:]) != {255} for row in rows[10:]):
            beyond.append(number)
    return beyond


needs_cjk_fonts = pytest.mark.skipif(
    missing_glyphs("東京") != set(), reason="no Chinese, Japanese and Korean fonts on this machine"
)
