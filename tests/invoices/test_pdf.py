"""The invoice as a PDF: what it says, that it looks right, and that nothing can break it."""

import io
import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invoices.money import Line, TaxAmount, find_locale, totals
from invoices.pdf import (
    DocumentLine,
    InvoiceDocument,
    InvoiceNotRenderable,
    Party,
    fonts,
    missing_glyphs,
    render,
    render_png,
)
from invoices.pdf.fonts import families_for, font_set
from invoices.pdf.glyphs import displayable

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


@pytest.fixture
def without_cjk_fonts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(fonts, "_SYSTEM_FONTS", tmp_path)
    monkeypatch.setattr(fonts, "_PACKAGES", ("fontpkg_noto_sans", "fontpkg_noto_sans_arabic"))
    font_set.cache_clear()
    yield
    font_set.cache_clear()


needs_cjk_fonts = pytest.mark.skipif(
    missing_glyphs("東京") != set(), reason="no Chinese, Japanese and Korean fonts on this machine"
)


# --- What it says ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fact",
    [
        "Invoice INV-0001",
        "29 November 2025",
        "13 December 2025",
        "Adaeze Okafor & Partners Ltd",
        "accounts@adaezeokafor.example",
        "Kuramo Foods Plc 27B Adeola Odeku Street Victoria Island",
        "Your tax ID TIN 10993321-0001",
        "Quarterly bookkeeping 2.5 100,000.00 7.5% 250,000.00",
        "Postage 1 50.00 0% 50.00",
        "Subtotal ₦250,050.00",
        "Tax 0% on ₦50.00 ₦0.00",
        "Tax 7.5% on ₦250,000.00 ₦18,750.00",
        "Total (NGN) ₦268,800.00",
        "Please pay ₦268,800.00 by 13 December 2025.",
        "Payment is due within 14 days.",
        "Guaranty Trust Bank Account number: 0123456789",
        "Thank you for your business.",
        "Tax ID TIN 20418837-0001",
        "1 / 1",
    ],
)
def test_the_document_says(fact: str) -> None:
    document = invoice_of(
        line("Quarterly bookkeeping", 10_000_000, "2.5"), line("Postage", 5_000, tax_rate="0")
    )
    assert fact in text_of(document)


def test_one_rate_needs_no_base_beside_it() -> None:
    assert "Tax 7.5% ₦7.50 Total" in text_of(invoice_of(line("Tea", 10_000)))


def test_an_imported_invoice_without_lines_still_says_what_is_owed() -> None:
    text = text_of(LAGOS)
    assert "Total (NGN) ₦45,000.00" in text
    assert "Description" not in text
    assert "Subtotal" not in text


def test_what_is_not_known_leaves_no_empty_label() -> None:
    bare = replace(
        LAGOS,
        sender=Party(name="Ọ̀ṣun Ltd"),
        customer=Party(name="Chidi"),
        payment_terms="",
        payment_details=" ",
        notes="",
    )
    text = text_of(bare)
    assert not [label for label in ("Payment", "Notes", "ax ID") if label in text]


@pytest.mark.parametrize(
    ("currency", "locale", "facts"),
    [
        ("JPY", "en", ("1,234,567", "Total (JPY) ¥1,234,567", "November 29, 2025")),
        ("KWD", "en", ("1,234.567", "Total (KWD) KWD 1,234.567")),
        ("EUR", "de", ("12.345,67", "Total (EUR) 12.345,67 €", "29. November 2025")),
        ("EUR", "fr", ("12 345,67", "Total (EUR) 12 345,67 €", "29 novembre 2025")),
        ("INR", "en-IN", ("12,345.67", "Total (INR) ₹12,345.67", "29 November 2025")),
    ],
)
def test_amounts_and_dates_are_written_in_the_documents_locale(
    currency: str, locale: str, facts: tuple[str, ...]
) -> None:
    document = replace(
        invoice_of(line("Consulting", 1_234_567, tax_rate="0")), currency=currency, locale=locale
    )
    text = text_of(document)
    assert [fact for fact in facts if fact not in text] == []


def test_line_breaks_in_an_address_stay_lines() -> None:
    customer = Party(name="Kuramo", address_lines=("First\r\nSecond\x0bThird", "Fourth\u2028Fifth"))
    (page,) = pages_of(replace(LAGOS, customer=customer))
    lines = [row.strip() for row in page.splitlines()]
    assert {"First", "Second", "Third", "Fourth", "Fifth"} <= set(lines)


# --- The file --------------------------------------------------------------------------------


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


# --- Data is data ----------------------------------------------------------------------------


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


@pytest.mark.slow
@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_every_text_can_be_printed(text: str) -> None:
    document = replace(
        invoice_of(line(text, 100)), number=text, customer=Party(name=text), notes=text
    )
    assert render(document).startswith(b"%PDF-1.7")


# --- It stays on the page --------------------------------------------------------------------


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


# --- It flows over pages ---------------------------------------------------------------------


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


# --- Scripts, and what no font has -----------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Ọjọ́ Ṣẹ́gun ẹ̀kọ́ ọ̀rọ̀",
        "Tư vấn kế toán ở Thành phố Hồ Chí Minh",
        "Общество с ограниченной ответственностью",
        "Ανώνυμη Εταιρεία Ελλάδος",
        "₦ ₹ € ¥ £ ₫ ₵ ₺ ₴",
        "شركة المستقبل للتجارة العامة ١٢٣",
        "Łódź, Þórshöfn, Çeşme, Ñuñoa, Křižíkova",
    ],
)
def test_the_packaged_fonts_have_the_scripts_of_our_customers(
    text: str, without_cjk_fonts: None
) -> None:
    assert missing_glyphs(text) == set()
    assert displayable(text) == text


@pytest.mark.parametrize(
    ("locale", "texts", "family"),
    [
        ("en", ["株式会社やまびこ"], "Noto Sans CJK JP"),
        ("en", ["서울특별시"], "Noto Sans CJK KR"),
        ("en", ["北京"], "Noto Sans CJK SC"),
        ("ja", ["東京"], "Noto Sans CJK JP"),
        ("zh-hant", ["臺北"], "Noto Sans CJK TC"),
        ("zh-HK", ["香港"], "Noto Sans CJK HK"),
    ],
)
@needs_cjk_fonts
def test_shared_characters_get_the_shapes_of_their_language(
    locale: str, texts: list[str], family: str
) -> None:
    families = families_for(texts, locale=find_locale(locale))
    assert families[:2] == ["Noto Sans", family]


@needs_cjk_fonts
def test_a_customer_in_japan_is_printed() -> None:
    text = text_of(replace(LAGOS, customer=Party(name="株式会社やまびこ商事")))
    assert "株式会社やまびこ商事" in text


def test_missing_glyphs_names_what_no_font_has(without_cjk_fonts: None) -> None:
    assert missing_glyphs("Tokyo 東京\n") == {"東", "京"}
    assert missing_glyphs("a\u0301 ㎏ ⑴\u200b\ufe0f\x00") == set()
    assert missing_glyphs("\ue000") == {"\ue000"}  # private use: looks different everywhere


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("東京 Ltd", "?? Ltd"),
        ("a 👩\u200d👩\u200d👧 b", "a ? b"),  # a family is one character to its reader
        ("🇳🇬🇬🇭 👍🏽", "?? ?"),
        ("㍿", "?"),
        ("2㎏ ⑴ Ⅻ", "2kg (1) XII"),
        ("\ue000\ud800", "??"),
    ],
)
def test_a_missing_character_becomes_a_question_mark_that_a_reader_sees(
    text: str, printed: str, without_cjk_fonts: None
) -> None:
    assert displayable(text) == printed


def test_what_cannot_be_printed_is_never_a_box(without_cjk_fonts: None) -> None:
    text = text_of(replace(LAGOS, customer=Party(name=f"{CUNEIFORM} Temple")))
    assert "? Temple" in text


@pytest.mark.slow
def test_typst_can_print_every_character_that_the_fonts_say_they_have() -> None:
    """PDF/UA refuses a character without a glyph: it is the judge of our cmap reader."""
    characters = "".join(map(chr, sorted(font_set().characters)))
    kept = displayable(characters[:6_000])
    assert render(replace(LAGOS, notes=" ".join(kept)))
    assert {"A", "Ṣ", "ệ", "Я", "₦", "ش"} <= set(kept)


def test_the_discount_stands_between_the_subtotal_and_the_bases_of_the_taxes() -> None:
    hours = [line("Consulting", 2_500, "0.333", "5")] * 7
    text = text_of(invoice_of(*hours, line("Quebec", 10_000, tax_rate="9.975"), discount="10"))
    for part in (
        *("Subtotal ₦158.31", "Discount 10% -₦15.83", "Tax 5% on ₦52.48 ₦2.62"),
        *("Tax 9.975% on ₦90.00 ₦8.98", "Total (NGN) ₦154.08"),
    ):
        assert part in text


def test_two_taxes_of_a_line_stand_beside_it_and_each_in_the_sums() -> None:
    hours = [
        replace(line("Conseil", 2_500, "0.333", "5"), second_tax_rate=Decimal("9.975"))
        for _ in range(7)
    ]
    text = text_of(invoice_of(*hours))
    for part in (
        *("5% + 9.975%", "Subtotal ₦58.31", "Tax 5% on ₦58.31 ₦2.92"),
        *("Tax 9.975% on ₦58.31 ₦5.82", "Total (NGN) ₦67.05"),
    ):
        assert part in text


@pytest.mark.thorough
def test_a_void_document_is_marked_on_each_page_and_asks_for_no_money() -> None:
    lines = [line(f"Tea {number}", 100) for number in range(60)]
    valid, void = invoice_of(*lines), replace(invoice_of(*lines), void=True)
    pages = pages_of(void)
    assert len(pages) > 1
    assert all("VOID" in page for page in pages)
    text = text_of(void)
    assert "VOID Invoice INV-0001" in text
    assert "This invoice is void: there is nothing to pay." in text
    for demand in ("Please pay", "Amount due", "Payment details", "0123456789"):
        assert demand in text_of(valid)
        assert demand not in text
    assert "VOID" not in text_of(valid)


def test_without_a_discount_there_is_no_word_of_it() -> None:
    assert "Discount" not in text_of(invoice_of(line("Tea", 100)))


# --- What cannot be rendered -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"currency": "XYZ"}, "XYZ"),
        ({"locale": "tlh"}, "tlh"),
        ({"amount_minor": 1}, "net and taxes do not add up"),
        ({"lines": (line("Tea", 100),)}, "the lines do not add up"),
        ({"taxes": (TaxAmount(Decimal(5), 100, 5),)}, "net and taxes do not add up"),
        ({"discount_minor": 1}, "net and taxes do not add up"),
        (
            {"lines": (line("Tea", 4_500_000),), "discount_minor": 5, "amount_minor": 4_499_995},
            "the taxes are not those of its lines",
        ),
    ],
)
def test_a_document_that_cannot_be_right_is_refused_with_a_reason(
    changes: dict[str, object], reason: str
) -> None:
    with pytest.raises(InvoiceNotRenderable, match=reason) as refused:
        render(replace(LAGOS, **changes))  # type: ignore[arg-type]
    assert refused.value.reason.endswith(".")


def test_an_error_of_typst_is_told_with_the_invoices_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("invoices.pdf.rendering._template", lambda: b'#panic("out of paper")')
    with pytest.raises(InvoiceNotRenderable, match=r"INV-0001 could not be made: .*out of paper"):
        render(LAGOS)


class PanicException(BaseException):
    """Stands for pyo3's, which cannot be imported."""


@pytest.mark.parametrize(
    ("error", "raised"),
    [(PanicException(), InvoiceNotRenderable), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_a_panic_inside_typst_ends_no_worker(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, raised: type[BaseException]
) -> None:
    def broken() -> bytes:
        raise error

    monkeypatch.setattr("invoices.pdf.rendering._template", broken)
    with pytest.raises(raised):
        render(LAGOS)
