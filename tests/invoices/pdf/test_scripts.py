"""The scripts of our customers, and what no font has."""

from dataclasses import replace
from decimal import Decimal

import pytest

from invoices.money import find_locale
from invoices.pdf import (
    Party,
    missing_glyphs,
    render,
)
from invoices.pdf.fonts import families_for, font_set
from invoices.pdf.glyphs import displayable
from tests.invoices.pdf.documents import (
    CUNEIFORM,
    LAGOS,
    invoice_of,
    line,
    needs_cjk_fonts,
    pages_of,
    text_of,
)


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


@pytest.mark.thorough
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
