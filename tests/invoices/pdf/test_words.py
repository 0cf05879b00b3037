"""What the PDF of an invoice says."""

from dataclasses import replace

import pytest

from invoices.pdf import (
    Party,
)
from tests.invoices.pdf.documents import LAGOS, invoice_of, line, pages_of, text_of


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
