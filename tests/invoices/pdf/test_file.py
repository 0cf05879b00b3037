"""The PDF as a file: the same bytes each time, with metadata, for archives and screen readers."""

import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pypdf
import pytest

from invoices.pdf import (
    render,
)
from tests.invoices.pdf.documents import LAGOS, invoice_of, line


def test_equal_documents_make_equal_bytes() -> None:
    assert render(LAGOS) == render(replace(LAGOS))


@pytest.mark.thorough
def test_eight_threads_at_once_make_the_same_bytes() -> None:
    document = invoice_of(line("Bookkeeping", 10_000), line("خدمات استشارية", 5))
    expected = render(document)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(render, [document] * 32)) == {expected}


def test_the_metadata_name_the_invoice_its_sender_and_its_date() -> None:
    reader = pypdf.PdfReader(io.BytesIO(render(LAGOS)))
    assert reader.metadata is not None
    assert reader.metadata.title == "Invoice INV-0001"
    assert reader.metadata.author == "Adaeze Okafor & Partners Ltd"
    assert reader.metadata.creation_date == datetime(2025, 11, 29, tzinfo=UTC)


def test_the_time_of_creation_is_the_metadatas_date_where_it_is_known() -> None:
    created_at = datetime(2025, 11, 28, 17, 5, 9, tzinfo=UTC)
    reader = pypdf.PdfReader(io.BytesIO(render(replace(LAGOS, created_at=created_at))))
    assert reader.metadata is not None
    assert reader.metadata.creation_date == created_at


def test_archives_and_screen_readers_can_use_it() -> None:
    pdf = render(LAGOS)
    for claim in (b"<pdfaid:part>3<", b"<pdfaid:conformance>A<", b"<pdfuaid:part>1<"):
        assert claim in pdf
    assert b"/Marked true" in pdf
    assert b"/Lang(en)" in pdf.replace(b" ", b"")
