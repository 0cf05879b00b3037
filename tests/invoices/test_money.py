"""What an invoice comes to, and how an amount is written."""

from dataclasses import replace
from decimal import Decimal

import pytest
from babel.core import get_global
from babel.numbers import get_currency_precision
from hypothesis import given
from hypothesis import strategies as st

from invoices.money import (
    Line,
    TaxAmount,
    Totals,
    UnknownCurrency,
    UnknownLocale,
    discount_minor,
    format_amount,
    format_figure,
    minor_unit_exponent,
    net_minor,
    rates_of,
    tax_minor,
    totals,
)

NBSP = "\N{NO-BREAK SPACE}"
NARROW_NBSP = "\N{NARROW NO-BREAK SPACE}"


def line(quantity: str, unit_price_minor: int, tax_rate: str = "0") -> Line:
    return Line(
        quantity=Decimal(quantity), unit_price_minor=unit_price_minor, tax_rate=Decimal(tax_rate)
    )


def both(quantity: str, unit_price_minor: int) -> Line:
    return replace(line(quantity, unit_price_minor, "5"), second_tax_rate=Decimal("9.975"))


lines = st.lists(
    st.builds(
        Line,
        quantity=st.decimals(min_value=-(10**10), max_value=10**10, places=6),
        unit_price_minor=st.integers(min_value=-(10**18), max_value=10**18),
        tax_rate=st.sampled_from([Decimal(rate) for rate in ("0", "5", "7.5", "9.975", "20")]),
    )
)


@pytest.mark.parametrize(
    ("quantity", "unit_price_minor", "expected"),
    [
        ("1", 4_500_000, 4_500_000),
        ("0.333", 2_500, 833),  # 832.5
        ("-0.333", 2_500, -833),  # a credit mirrors its invoice
        ("0.333333", 3, 1),  # 0.999999
        ("0.000001", 499_999, 0),
        ("0.000001", 500_000, 1),
        ("1.500000000", 3, 5),  # 4.5; zeros at the end are no decimal places
        ("1E+3", 7, 7_000),
        ("9999999999.999999", 9_223_372_036_854_775_807, 92233720368547748846627963145),
    ],
)
def test_a_line_is_rounded_half_up_once(
    quantity: str, unit_price_minor: int, expected: int
) -> None:
    assert net_minor(Decimal(quantity), unit_price_minor) == expected


@pytest.mark.parametrize("quantity", ["0.0000001", "NaN", "Infinity"])
def test_a_quantity_that_is_no_number_of_six_places_is_refused(quantity: str) -> None:
    with pytest.raises(ValueError, match="quantity"):
        net_minor(Decimal(quantity), 100)


@pytest.mark.parametrize("rate", ["-1", "NaN"])
def test_a_tax_rate_that_is_no_positive_number_is_refused(rate: str) -> None:
    with pytest.raises(ValueError, match="tax rate"):
        tax_minor(100, Decimal(rate))


@pytest.mark.parametrize(("rate", "tax"), [("5", 292), ("9.975", 582)])
def test_tax_is_rounded_once_for_all_lines_of_a_rate(rate: str, tax: int) -> None:
    """Seven times 0.333 hours at 25.00: 7 * 8.33 = 58.31, and 5 % of that is 2.9155."""
    assert totals([line("0.333", 2_500, rate)] * 7) == Totals(
        5_831, (TaxAmount(Decimal(rate), 5_831, tax),), 5_831 + tax
    )


def test_each_rate_is_taxed_by_itself_the_lowest_first() -> None:
    invoice = [line("1", 1_000, "7.5"), line("3", 333, "0"), line("1", 50, "7.50"), line("2", 99)]
    assert totals(invoice) == Totals(
        net_minor=2_247,
        taxes=(TaxAmount(Decimal(0), 1_197, 0), TaxAmount(Decimal("7.5"), 1_050, 79)),
        gross_minor=2_326,
    )


def test_a_line_with_two_taxes_is_in_the_bases_of_both() -> None:
    """As in Québec: neither tax is taken of the other."""
    assert totals([both("0.333", 2_500)] * 7) == Totals(
        net_minor=5_831,
        taxes=(TaxAmount(Decimal(5), 5_831, 292), TaxAmount(Decimal("9.975"), 5_831, 582)),
        gross_minor=6_705,
    )


def test_lines_with_one_of_the_rates_are_taxed_together_with_those_that_have_both() -> None:
    invoice = [both("0.333", 2_500)] * 7 + [line("1", 10_000, "5")]
    assert totals(invoice, discount_rate=Decimal(10)) == Totals(
        net_minor=15_831,
        discount_minor=583 + 1_000,
        taxes=(TaxAmount(Decimal(5), 14_248, 712), TaxAmount(Decimal("9.975"), 5_248, 523)),
        gross_minor=14_248 + 712 + 523,
    )


def test_the_order_of_two_rates_changes_nothing() -> None:
    turned = replace(both("3", 333), tax_rate=Decimal("9.975"), second_tax_rate=Decimal(5))
    assert totals([both("3", 333), turned]) == totals([both("3", 333)] * 2)
    assert rates_of(turned) == (Decimal(5), Decimal("9.975"))


def test_no_lines_come_to_nothing() -> None:
    assert totals([]) == Totals(0, (), 0)


@given(lines)
def test_the_sums_are_consistent(invoice: list[Line]) -> None:
    result = totals(invoice)
    assert result.net_minor == sum(line.net_minor for line in invoice)
    assert result.net_minor == sum(tax.base_minor for tax in result.taxes)
    assert result.gross_minor == result.net_minor + sum(tax.tax_minor for tax in result.taxes)
    assert [tax.rate for tax in result.taxes] == sorted({line.tax_rate for line in invoice})


@given(lines)
def test_a_credit_note_takes_back_exactly_its_invoice(invoice: list[Line]) -> None:
    credit = [
        Line(
            quantity=line.quantity,
            unit_price_minor=-line.unit_price_minor,
            tax_rate=line.tax_rate,
        )
        for line in invoice
    ]
    assert totals(credit).gross_minor == -totals(invoice).gross_minor


# The discount ---------------------------------------------------------------------------------

rates = st.decimals(min_value=0, max_value=100, places=4)


def test_the_discount_is_rounded_once_per_rate_and_lessens_the_base_of_its_tax() -> None:
    """58.31 - 10 % = 5.831; 50.00 - 10 %; taxes on what is left, 2.624 and 4.48875."""
    invoice = [*[line("0.333", 2_500, "5")] * 7, line("1", 5_000, "9.975")]
    assert totals(invoice, discount_rate=Decimal(10)) == Totals(
        net_minor=10_831,
        discount_minor=583 + 500,
        taxes=(TaxAmount(Decimal(5), 5_248, 262), TaxAmount(Decimal("9.975"), 4_500, 449)),
        gross_minor=5_248 + 262 + 4_500 + 449,
    )


@pytest.mark.parametrize(
    ("quantity", "price", "times", "rate", "gross"),
    [
        ("0.333", 2_500, 7, "5", 6_123),
        ("0.333", 2_500, 7, "9.975", 6_413),
        ("0.5", 333, 3, "10", 551),  # Yen: 166.5 is 167, three times, and 50.1 is 50.
        ("0.5", 1_235, 1, "5", 649),  # Thousandths of a dinar: 617.5 is 618, and 30.9 is 31.
    ],
)
def test_the_examples_of_the_docs(
    quantity: str, price: int, times: int, rate: str, gross: int
) -> None:
    assert totals([line(quantity, price, rate)] * times).gross_minor == gross


@pytest.mark.parametrize("rate", ["-1", "100.0001", "NaN"])
def test_a_discount_that_is_no_part_of_the_whole_is_refused(rate: str) -> None:
    with pytest.raises(ValueError, match="discount"):
        discount_minor(100, Decimal(rate))


@given(lines, rates)
def test_subtotal_less_discount_and_taxes_is_the_total(invoice: list[Line], rate: Decimal) -> None:
    result = totals(invoice, discount_rate=rate)
    assert result.net_minor == sum(line.net_minor for line in invoice)
    assert result.net_minor - result.discount_minor == sum(tax.base_minor for tax in result.taxes)
    assert result.gross_minor == result.net_minor - result.discount_minor + sum(
        tax.tax_minor for tax in result.taxes
    )


@given(lines)
def test_no_discount_is_none_and_all_of_it_leaves_nothing(invoice: list[Line]) -> None:
    assert totals(invoice, discount_rate=Decimal(0)) == totals(invoice)
    assert totals(invoice, discount_rate=Decimal(100)).gross_minor == 0


@given(
    st.lists(
        st.builds(
            Line,
            quantity=st.decimals(min_value="0.000001", max_value=10**6, places=6),
            unit_price_minor=st.integers(min_value=0, max_value=10**12),
            tax_rate=st.sampled_from([Decimal(0), Decimal(5), Decimal("9.975")]),
        )
    ),
    rates,
    rates,
)
def test_more_discount_never_costs_more(invoice: list[Line], one: Decimal, other: Decimal) -> None:
    less, more = sorted([one, other])
    small, great = (totals(invoice, discount_rate=rate) for rate in (less, more))
    assert great.gross_minor <= small.gross_minor
    assert 0 <= great.discount_minor <= great.net_minor


@pytest.mark.parametrize(
    ("currency", "exponent"),
    [("NGN", 2), ("EUR", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4), ("IDR", 2), ("IQD", 3)],
)
def test_minor_units_are_those_of_iso_4217(currency: str, exponent: int) -> None:
    assert minor_unit_exponent(currency) == exponent


def test_babel_counts_other_places_only_where_money_lost_its_cents() -> None:
    """Where Babel differs it says 0, a habit of display. A new difference is worth a look."""
    different = {
        currency
        for currency in get_global("currency_fractions")
        if currency != "DEFAULT"
        and get_currency_precision(currency) != minor_unit_exponent(currency)
    }
    assert all(get_currency_precision(currency) == 0 for currency in different)
    assert {"IDR", "IQD", "LBP"} <= different


@pytest.mark.parametrize("code", ["", "ngn", "NG", "XYZ", "₦"])
def test_a_code_that_no_currency_has_is_refused(code: str) -> None:
    with pytest.raises(UnknownCurrency, match="ISO 4217"):
        minor_unit_exponent(code)


@pytest.mark.parametrize("tag", ["", "tlh", "../en", "en_NG_x_y_z_0"])
def test_a_tag_that_no_locale_has_is_refused(tag: str) -> None:
    with pytest.raises(UnknownLocale, match="locale"):
        format_amount(1, "NGN", tag)


@pytest.mark.parametrize(
    ("amount_minor", "currency", "locale", "expected"),
    [
        (4_500_000, "NGN", "en-NG", "₦45,000.00"),
        (4_500_000, "NGN", "en", "₦45,000.00"),
        (4_500_000, "NGN", "fr", f"45{NARROW_NBSP}000,00{NBSP}₦"),
        (1_234_567, "JPY", "en", "¥1,234,567"),
        (1_234_567, "JPY", "ja", "￥1,234,567"),
        (1_234_567, "KWD", "en", f"KWD{NBSP}1,234.567"),
        (150_000, "KES", "en", f"KES{NBSP}1,500.00"),
        (150_000, "USD", "en_GB", "US$1,500.00"),
        (150_000_000, "IDR", "id", f"Rp{NBSP}1.500.000,00"),
        (12_345_678_900, "INR", "en-IN", "₹12,34,56,789.00"),
        (123_456, "EUR", "de", f"1.234,56{NBSP}€"),
        (-150, "EUR", "en", "-€1.50"),
        (5, "EUR", "en", "€0.05"),
        (0, "EUR", "en", "€0.00"),
        (10**40 + 1, "USD", "en", "$100" + ",000" * 12 + ".01"),
    ],
)
def test_an_amount_is_written_as_its_locale_writes_it(
    amount_minor: int, currency: str, locale: str, expected: str
) -> None:
    assert format_amount(amount_minor, currency, locale) == expected


@pytest.mark.parametrize(
    ("amount_minor", "currency", "locale", "expected"),
    [
        (4_500_000, "NGN", "en", "45,000.00"),
        (1_234, "JPY", "en", "1,234"),
        (-1_234, "KWD", "de", "-1,234"),
    ],
)
def test_a_figure_is_an_amount_without_its_currency(
    amount_minor: int, currency: str, locale: str, expected: str
) -> None:
    assert format_figure(amount_minor, currency, locale) == expected


@given(st.integers(min_value=-(10**18), max_value=10**18), st.sampled_from(["NGN", "JPY", "KWD"]))
def test_no_digit_of_an_amount_is_lost(amount_minor: int, currency: str) -> None:
    written = format_figure(amount_minor, currency, "en").replace(",", "").replace(".", "")
    assert int(written) == amount_minor
