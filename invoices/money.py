"""Money: what an invoice comes to, and how an amount is written.

Amounts are integers in the currency's minor unit (kobo, cents, whole yen), never floats.

Rounding, half up (a half goes away from zero, so that a credit mirrors its invoice), in three
places and nowhere else:

1. *Once per line.* The line's net is quantity times unit price, rounded to the minor unit.
   Quantities have up to six decimal places.
2. *The discount, once per tax rate.* The nets of all lines with that rate are added, multiplied by
   the invoice's discount and rounded; what is left is the base of the tax. Lines with two taxes
   count as a rate of their own here, and what is left of them belongs to the bases of both.
3. *The tax, once per tax rate.* That base times the rate, rounded. Rounding the discount or the tax
   of each line would add up as many errors as there are lines.

Net - discount + taxes = gross then holds exactly, as EN 16931 wants it (BR-CO-10, -11, -13, -15,
and -17 for the tax of one rate; the discount is its allowance of a whole invoice, one per rate).
All of it is integer arithmetic: no decimal context can cut off a digit. docs/money.md has examples.
"""

import decimal
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from typing import Protocol

from babel import Locale, UnknownLocaleError
from babel.numbers import format_currency, format_decimal, is_currency

QUANTITY_PLACES = 6

# ISO 4217, list one: every currency that has not two decimal places. CLDR, and so Babel, is no
# source for this: its digits are habits of display (none for IDR, COP or IQD), while an amount in
# minor units that another program hands to us counts in ISO's.
_EXPONENTS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}

# Signs that mean one currency only, for locales whose data has none: English writes "NGN" outside
# Nigeria. Signs shared by several currencies ($, kr, £) are the locale's business.
_OWN_SIGNS = {
    "AZN": "₼",
    "CRC": "₡",
    "GEL": "₾",
    "GHS": "GH₵",
    "KZT": "₸",
    "MNT": "₮",
    "NGN": "₦",
    "PYG": "₲",
    "TRY": "₺",
    "UAH": "₴",
}

# Babel formats in the current decimal context, whose 28 digits would round a longer amount.
_EVERY_DIGIT = decimal.Context(prec=1000)


class UnknownCurrency(ValueError):
    """No currency has this ISO 4217 code."""


class UnknownLocale(ValueError):
    """No locale has this tag."""


class HasNet(Protocol):
    """Any line: what stands in the database, in a form, in a document."""

    @property
    def net_minor(self) -> int: ...

    @property
    def tax_rate(self) -> Decimal: ...

    @property
    def second_tax_rate(self) -> Decimal: ...


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a line's money depends on. Rates are in per cent: 7.5 is 7.5 %."""

    quantity: Decimal
    unit_price_minor: int
    tax_rate: Decimal
    second_tax_rate: Decimal = Decimal(0)

    @property
    def net_minor(self) -> int:
        return net_minor(self.quantity, self.unit_price_minor)


@dataclass(frozen=True)
class TaxAmount:
    """The tax of all lines with one rate. The base is what is left of them after the discount.

    A line with two rates is in the bases of both.
    """

    rate: Decimal
    base_minor: int
    tax_minor: int


@dataclass(frozen=True)
class Totals:
    """What the lines come to: `net_minor` - `discount_minor` + all `tax_minor` = `gross_minor`.

    `net_minor` is the sum of the lines as they are printed, before the discount.
    """

    net_minor: int
    taxes: tuple[TaxAmount, ...]
    gross_minor: int
    discount_minor: int = 0


def net_minor(quantity: Decimal, unit_price_minor: int) -> int:
    """Multiply a quantity by a unit price and round half up to the minor unit.

    Raises ValueError for a quantity that is no finite number of at most six decimal places.
    """
    if not quantity.is_finite():
        raise ValueError(f"A quantity must be a number, not {quantity}.")
    numerator, denominator = quantity.as_integer_ratio()
    if 10**QUANTITY_PLACES % denominator:
        raise ValueError(f"A quantity has at most {QUANTITY_PLACES} decimal places: {quantity}.")
    return _round_half_up(numerator * unit_price_minor, denominator)


def tax_minor(base_minor: int, rate: Decimal) -> int:
    """Take `rate` per cent of an amount and round half up to the minor unit."""
    if not rate.is_finite() or rate < 0:
        raise ValueError(f"A tax rate must be a number of at least zero, not {rate}.")
    return _per_cent(base_minor, rate)


def discount_minor(net_minor: int, rate: Decimal) -> int:
    """Take a discount of `rate` per cent of an amount and round half up to the minor unit."""
    if not rate.is_finite() or not 0 <= rate <= 100:
        raise ValueError(f"A discount must be a number from 0 to 100, not {rate}.")
    return _per_cent(net_minor, rate)


def rates_of(line: HasNet) -> tuple[Decimal, ...]:
    """Return the rates that a line is taxed by, the lowest first: one, or two that differ."""
    rates = {rate for rate in (line.tax_rate, line.second_tax_rate) if rate}
    return tuple(sorted(rates)) or (Decimal(0),)


def totals(lines: Iterable[HasNet], *, discount_rate: Decimal = Decimal(0)) -> Totals:
    """Add up the lines; `taxes` has one entry per distinct rate, zero included, lowest first."""
    nets: defaultdict[tuple[Decimal, ...], int] = defaultdict(int)
    for line in lines:
        nets[rates_of(line)] += line.net_minor
    discounts = {rates: discount_minor(net, discount_rate) for rates, net in nets.items()}
    bases: defaultdict[Decimal, int] = defaultdict(int)
    for rates, net in nets.items():
        for rate in rates:
            bases[rate] += net - discounts[rates]
    taxes = tuple(_taxed(rate, bases[rate]) for rate in sorted(bases))
    net, discount = sum(nets.values()), sum(discounts.values())
    gross = net - discount + sum(tax.tax_minor for tax in taxes)
    return Totals(net, taxes, gross, discount)


def validate_currency(code: str) -> str:
    """Return the ISO 4217 code, three capital letters; raises UnknownCurrency."""
    if not is_currency(code):
        raise UnknownCurrency(f"“{code}” is no ISO 4217 currency code (three capitals, like NGN).")
    return code


@cache
def minor_unit_exponent(currency: str) -> int:
    """Return how many decimal places the currency has: 2 for NGN, 0 for JPY, 3 for KWD."""
    validate_currency(currency)
    return next((places for places, codes in _EXPONENTS.items() if currency in codes.split()), 2)


def format_amount(amount_minor: int, currency: str, locale: str) -> str:
    """Write an amount with its currency, as the locale does: ₦45,000.00."""
    pattern = _with_fixed_places(find_locale(locale).currency_formats["standard"].pattern, currency)
    with decimal.localcontext(_EVERY_DIGIT):
        text = format_currency(
            _major(amount_minor, currency),
            currency,
            pattern,
            locale=find_locale(locale),
            currency_digits=False,
        )
    if currency in _OWN_SIGNS:
        text = text.replace(currency, _OWN_SIGNS[currency])
    return _space_letters_from_figures(text)


def format_figure(amount_minor: int, currency: str, locale: str) -> str:
    """Write an amount without its currency, for columns that name it once: 45,000.00."""
    pattern = _with_fixed_places(find_locale(locale).decimal_formats[None].pattern, currency)
    with decimal.localcontext(_EVERY_DIGIT):
        return format_decimal(_major(amount_minor, currency), pattern, locale=find_locale(locale))


def plain_amount(amount_minor: int, currency: str) -> str:
    """Write an amount for programs, with all places of its currency: 45000.00."""
    return f"{_major(amount_minor, currency):f}"


@lru_cache
def find_locale(tag: str) -> Locale:
    """Find the locale of a tag such as en, en-NG, en_NG or zh-hans; raises UnknownLocale."""
    try:
        return Locale.parse(tag.replace("-", "_"))
    except (ValueError, TypeError, UnknownLocaleError) as error:
        raise UnknownLocale(f"“{tag}” is no locale that we know (like en, en-NG, fr).") from error


def _taxed(rate: Decimal, base_minor: int) -> TaxAmount:
    return TaxAmount(rate, base_minor, tax_minor(base_minor, rate))


def _per_cent(amount_minor: int, rate: Decimal) -> int:
    numerator, denominator = rate.as_integer_ratio()
    return _round_half_up(amount_minor * numerator, denominator * 100)


def _round_half_up(numerator: int, denominator: int) -> int:
    rounded = (2 * abs(numerator) + denominator) // (2 * denominator)
    return rounded if numerator >= 0 else -rounded


def _major(amount_minor: int, currency: str) -> Decimal:
    """Shift the decimal point without arithmetic, which a decimal context could round."""
    digits = tuple(int(digit) for digit in str(abs(amount_minor)))
    return Decimal((int(amount_minor < 0), digits, -minor_unit_exponent(currency)))


def _with_fixed_places(pattern: str, currency: str) -> str:
    """Give a CLDR number pattern exactly the currency's decimal places: #,##0.00 → #,##0."""
    places = minor_unit_exponent(currency)
    fraction = "." + "0" * places if places else ""
    return re.sub(r"0(?:\.[0#]+)?(?![0#,.])", "0" + fraction, pattern)


def _space_letters_from_figures(text: str) -> str:
    """Part a code from its figures with a no-break space, as CLDR's currencySpacing asks.

    Babel leaves this step out and writes "KES1,500.00".
    """
    return re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", "\N{NO-BREAK SPACE}", text)
