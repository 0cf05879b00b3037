"""Whatever stands in the data is printed as text."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invoices.pdf import (
    Party,
    render,
)
from invoices.pdf.glyphs import displayable
from tests.invoices.pdf.documents import invoice_of, line, text_of


@pytest.mark.parametrize(
    "text",
    [
        '#panic() #let x = 1; #read("/etc/passwd")',
        "*bold* _italic_ `raw` $a^2$ = heading",
        "\\ @ref [[x]] <label> \"quotes\" 'single' // comment /* more */ ~ --- ...",
        '{"json": [null]} \\u0041 \\n %s {0} {number}',
        "&amp; <b>bold</b> https://example.com",
    ],
)
def test_markup_in_the_data_is_printed_as_it_is(text: str) -> None:
    document = replace(
        invoice_of(line(text, 100)),
        number=text,
        customer=Party(name=text, address_lines=(text,), tax_id=text),
        sender=Party(name=text, address_lines=(text,), email=text, tax_id=text),
        notes=text,
        payment_terms=text,
        payment_details=text,
    )
    printed = "".join(text_of(document).split())
    assert printed.count("".join(text.split())) >= 10


def test_control_characters_and_direction_overrides_are_dropped() -> None:
    assert displayable("a\x00b\x1b[31m\ufeffc\u202e00.1\u202c\td") == "ab[31mc00.1 d"


@pytest.mark.thorough
@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_every_text_can_be_printed(text: str) -> None:
    document = replace(
        invoice_of(line(text, 100)), number=text, customer=Party(name=text), notes=text
    )
    assert render(document).startswith(b"%PDF-1.7")
