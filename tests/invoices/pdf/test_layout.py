"""Nothing leaves the page, and long invoices flow over several."""

from dataclasses import replace

import pytest

from invoices.pdf import (
    Party,
)
from tests.invoices.pdf.documents import (
    ink_beyond_the_right_margin,
    invoice_of,
    line,
    needs_cjk_fonts,
    pages_of,
    text_of,
)


@pytest.mark.parametrize(
    "word",
    [
        "ẹ́" * 120,
        pytest.param("W" * 240, marks=pytest.mark.thorough),
        pytest.param("الشركة" * 40, marks=pytest.mark.thorough),
        pytest.param("a" * 120 + "@" + "b" * 100 + ".example", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.thorough
def test_a_word_of_240_characters_is_broken_before_the_margin(word: str) -> None:
    document = replace(
        invoice_of(line(word, 100), line(f"before {word} after", 100)),
        number=word[:100],
        customer=Party(name=word, address_lines=(word,), tax_id=word[:60]),
        sender=Party(name=word, address_lines=(word,), email=word, tax_id=word[:60]),
        payment_terms=word,
        payment_details=word,
        notes=word,
    )
    assert ink_beyond_the_right_margin(document) == []


@needs_cjk_fonts
@pytest.mark.thorough
def test_text_without_spaces_is_broken_where_its_script_allows() -> None:
    text = "東京都千代田区での設置工事、第二期。" * 8
    document = replace(invoice_of(line(text, 100)), customer=Party(name=text), notes=text)
    assert ink_beyond_the_right_margin(document) == []


def test_a_word_that_fits_its_column_is_not_broken() -> None:
    word = "Wirtschaftsprüfungsgesellschaft"
    (page,) = pages_of(invoice_of(line(f"Honorar der Kanzlei und der {word} für November", 100)))
    assert word in page


@pytest.mark.thorough
def test_the_largest_amounts_fit() -> None:
    document = replace(
        invoice_of(line("Everything", 9_223_372_036_854_775_807, "0.999999")),
        currency="IDR",
        locale="id",
    )
    assert ink_beyond_the_right_margin(document) == []
    assert "Rp 99.151.150.244.939.443,73" in text_of(document)


@pytest.mark.thorough
def test_two_hundred_lines_flow_over_pages_below_a_repeated_header() -> None:
    document = invoice_of(*(line(f"Delivery {n} of tinned tomatoes", 100) for n in range(1, 201)))
    pages = pages_of(document)
    text = " ".join(pages)
    assert len(pages) > 4
    assert [n for n in range(1, 201) if f"Delivery {n} of" not in text] == []
    for number, page in enumerate(pages, start=1):
        assert ("Quantity" in page) == ("Delivery" in page)
        assert f"{number} / {len(pages)}" in page


@pytest.mark.parametrize("count", range(12, 26, 3))
def test_the_total_stands_on_one_page_with_its_taxes(count: int) -> None:
    document = invoice_of(*(line(f"Delivery {n}", 100) for n in range(count)))
    (page,) = [page for page in pages_of(document) if "Subtotal" in page]
    assert "Total (NGN)" in page


def test_a_row_is_not_torn_by_a_page_break() -> None:
    text = " ".join(f"word{n}" for n in range(100))
    document = invoice_of(*(line(f"{text} end{n}.", 100) for n in range(12)))
    for page in pages_of(document):
        assert page.count("word0 ") == page.count("end")


def test_a_description_longer_than_a_page_goes_on_over_the_next() -> None:
    document = invoice_of(line("paragraph of text, " * 500 + "the end", 100))
    assert text_of(document).count("paragraph of text,") == 500
