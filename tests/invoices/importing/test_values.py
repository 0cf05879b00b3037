"""What people write for numbers and dates, and what it is taken for."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from invoices.importing import values
from invoices.importing.problems import BadValue


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("1.234,50", ",", "1234.50"),
        ("1,234.50", ".", "1234.50"),
        ("1234.5", ".", "1234.5"),
        ("1234,5", ",", "1234.5"),
        ("1 234,50", ",", "1234.50"),
        ("1\u202f234\u00a0567,50", ",", "1234567.50"),
        ("1'234.50", ".", "1234.50"),
        ("1,234", ".", "1234"),
        ("1,234", ",", "1.234"),
        ("1.234.567", ",", "1234567"),
        ("-12.50", ".", "-12.50"),
        ("\u221212.50", ".", "-12.50"),
        ("+7", ".", "7"),
        (".5", ".", "0.5"),
        ("007", ".", "7"),
    ],
)
def test_a_number_is_read_by_its_decimal_mark(text: str, mark: Any, value: str) -> None:
    assert values.number(text, mark) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        *("", "abc", "1e5", "NaN", "Infinity", "12,34.50", "1.2.3", "0x10", "١٢٣", "½", "₦5"),
        *("1,", "--1", "1,23,456", "0,123.50", "1 23", "1\n2", "9" * 41),
    ],
)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(BadValue):
        values.number(text, ".")


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("1.234,50", ","),
        ("1,234.50", "."),
        ("1234.5", "."),
        ("1.5", "."),
        ("1,50", ","),
        ("1234.567", "."),
        ("0.123", "."),
        ("1.234.567", ","),
        ("1,234,567", "."),
        ("1,234", ",."),
        ("1.234", ",."),
        ("abc", ""),
    ],
)
def test_a_number_tells_which_decimal_marks_it_fits(text: str, marks: str) -> None:
    assert values.decimal_marks(text) == frozenset(marks)


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [("12.5", "NGN", 1250), ("12", "JPY", 12), ("1.234", "KWD", 1234), ("12.500", "EUR", 1250)],
)
def test_an_amount_is_read_into_minor_units(text: str, currency: str, minor: int) -> None:
    assert values.minor(text, ".", currency) == minor


@pytest.mark.parametrize(
    ("text", "currency", "sentence"),
    [
        ("12.505", "NGN", "NGN has 2 decimal places"),
        ("12.5", "JPY", "JPY has 0 decimal places"),
        ("1" + "0" * 30, "NGN", "too large"),
        ("1.99999999999999999999999999999999999", "NGN", "more"),
        ("1" + "0" * 50, "NGN", "too long"),
    ],
)
def test_an_amount_that_the_currency_cannot_hold_is_refused(
    text: str, currency: str, sentence: str
) -> None:
    with pytest.raises(BadValue, match=sentence):
        values.minor(text, ".", currency)


def test_quantities_and_tax_rates_stay_within_what_an_invoice_can_hold() -> None:
    assert values.quantity("0.5", ".") == Decimal("0.5")
    assert values.tax_rate("7,5 %", ",") == Decimal("7.5")
    for quantity in ("0", "-1", "0.0000001", "10000000000"):
        with pytest.raises(BadValue):
            values.quantity(quantity, ".")
    for rate in ("-1", "101", "7.55555"):
        with pytest.raises(BadValue):
            values.tax_rate(rate, ".")


@pytest.mark.parametrize(
    ("text", "order", "day"),
    [
        ("2026-03-02", None, date(2026, 3, 2)),
        ("2026-3-2", "mdy", date(2026, 3, 2)),
        ("02.03.2026", None, date(2026, 3, 2)),
        ("02.03.2026", "mdy", date(2026, 3, 2)),
        ("02/03/2026", "dmy", date(2026, 3, 2)),
        ("02/03/2026", "mdy", date(2026, 2, 3)),
        ("31-12-2026", "dmy", date(2026, 12, 31)),
    ],
)
def test_a_date_is_read_in_the_files_order(text: str, order: Any, day: date) -> None:
    assert values.day(text, order) == day


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2026-02-30", "2026-13-01", "31/02/2026", "1.1.26", "20260302"),
        *("0001-01-01", "9999-12-31", "2026/03/02", "02/03-2026", "٠٢/٠٣/٢٠٢٦"),
        "2026-03-02T10:00",
    ],
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(BadValue):
        values.day(text, "dmy")


@pytest.mark.parametrize(
    ("text", "orders"),
    [
        ("03/04/2026", {"dmy", "mdy"}),
        ("31/12/2026", {"dmy"}),
        ("12/31/2026", {"mdy"}),
        ("31.12.2026", set()),
        ("2026-12-31", set()),
        ("31/31/2026", set()),
    ],
)
def test_a_date_with_slashes_tells_which_orders_it_fits(text: str, orders: set[str]) -> None:
    assert values.date_orders(text) == orders


def test_a_currency_is_known_in_any_case() -> None:
    assert values.currency(" ngn ") == "NGN"
    for text in ("Naira", "₦", "", "XXXX"):
        with pytest.raises(BadValue):
            values.currency(text)
