"""What people write for numbers, money and dates, read one way or refused with a sentence."""

import decimal
import re
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from invoices import addresses, money, validation
from invoices.importing.problems import BadValue

Mark = Literal[",", "."]
Order = Literal["dmy", "mdy", "iso"]

# Far beyond any invoice, far within PostgreSQL's bigint, sums of a file included.
MOST_MINOR = 10**15
_LONGEST_NUMBER = 40
# More digits than a number of ours can have, so that none is rounded away unseen.
_EVERY_DIGIT = decimal.Context(prec=100)

# Grouping by spaces of any width, and by the Swiss apostrophe.
_SPACES = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
_SIGN = {"\u2212": "-", "\u2013": "-"}
_PLAIN = re.compile(r"[+-]?\d+(?:\.\d+)?")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_OTHER = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})", re.ASCII)


# Numbers -----------------------------------------------------------------------------------------


def decimal_marks(text: str) -> frozenset[Mark]:
    """Return which decimal marks a number may have been written with.

    Both for "1,234", which is one and a bit or more than a thousand, and for "12", which tells
    nothing; none for what is no number.
    """
    marks: tuple[Mark, Mark] = (",", ".")
    return frozenset(mark for mark in marks if _digits(_tidy(text), mark) is not None)


def is_telling(text: str) -> bool:
    """Tell whether a number has a mark at all: "12" says nothing about how a file writes."""
    return "," in text or "." in text


@lru_cache(maxsize=50_000)
def number(text: str, mark: Mark) -> Decimal:
    """Read a number whose decimal mark is known; raises BadValue."""
    if len(text) > _LONGEST_NUMBER:
        raise BadValue(_("This number is too long."))
    digits = _digits(_tidy(text), mark)
    if digits is None:
        other = "," if mark == "." else "."
        if _digits(_tidy(text), other) is not None:  # type: ignore[arg-type]
            raise BadValue(
                _("With “%(mark)s” as the decimal mark this is no number.") % {"mark": mark}
            )
        raise BadValue(_("This is no number."))
    return Decimal(digits)


def _tidy(text: str) -> str:
    text = text.strip()
    if text[:1] in _SIGN:
        text = _SIGN[text[0]] + text[1:].lstrip()
    return _SPACES.sub("", text)


def _digits(text: str, mark: Mark) -> str | None:
    """Return the number as Decimal reads it, or None if it cannot be meant with this mark."""
    group = "," if mark == "." else "."
    whole, found, fraction = text.partition(mark)
    if group in fraction:
        return None
    if group in whole:
        # Thousands stand in threes, and the first group does not begin with a zero.
        if not re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}(?:{re.escape(group)}\d{{3}})+", whole):
            return None
        whole = whole.replace(group, "")
    plain = f"{whole or '0'}.{fraction}" if found else whole
    if found and whole in {"", "+", "-"}:
        plain = f"{whole}0.{fraction}"
    return plain if plain.isascii() and _PLAIN.fullmatch(plain) else None


def minor(text: str, mark: Mark, currency: str) -> int:
    """Read an amount into the currency's minor units; raises BadValue."""
    value = number(text, mark)
    places = money.minor_unit_exponent(currency)
    scaled = value.scaleb(places, context=_EVERY_DIGIT)
    if abs(scaled) > MOST_MINOR:
        raise BadValue(_("This amount is too large."))
    if scaled != (whole := int(scaled)):
        raise BadValue(
            _("%(currency)s has %(places)s decimal places: this amount has more.")
            % {"currency": currency, "places": places}
        )
    return whole


def quantity(text: str, mark: Mark) -> Decimal:
    value = number(text, mark)
    if value <= 0:
        raise BadValue(_("A quantity must be more than zero."))
    if value >= 10**10:
        raise BadValue(_("This quantity is too large."))
    if value != round(value, money.QUANTITY_PLACES):
        raise BadValue(_("A quantity has at most six decimal places."))
    return value


def tax_rate(text: str, mark: Mark) -> Decimal:
    value = number(text.strip().removesuffix("%").rstrip(), mark)
    if not 0 <= value <= 100:
        raise BadValue(_("A tax rate stands in per cent, between 0 and 100."))
    if value != round(value, 4):
        raise BadValue(_("A tax rate has at most four decimal places."))
    return value


@lru_cache(maxsize=1_000)
def currency(text: str) -> str:
    code = text.strip().upper()
    try:
        validation.known_currency(code)
    except ValidationError:
        raise BadValue(_("This is no currency code such as NGN, EUR or JPY.")) from None
    return code


@lru_cache(maxsize=20_000)
def address(text: str) -> str:
    """Return an address that can be written to; raises BadValue."""
    if problem := addresses.problem_with(text):
        raise BadValue(problem)
    return text


# Dates -------------------------------------------------------------------------------------------


def date_orders(text: str) -> frozenset[Order]:
    """Return which orders a date with slashes or dashes fits; empty where the order is plain."""
    found = _OTHER.fullmatch(text.strip())
    if found is None or found[2] == ".":
        return frozenset()
    first, second = int(found[1]), int(found[3])
    orders: set[Order] = set()
    if 1 <= second <= 12:
        orders.add("dmy")
    if 1 <= first <= 12:
        orders.add("mdy")
    return frozenset(orders)


@lru_cache(maxsize=20_000)
def day(text: str, order: Order | None) -> date:
    """Read a date: ISO and 31.12.2026 always, slashes and dashes by `order`; raises BadValue."""
    text = text.strip()
    if found := _ISO.fullmatch(text):
        return _date(int(found[1]), int(found[2]), int(found[3]))
    found = _OTHER.fullmatch(text)
    if found is None or order == "iso":
        raise BadValue(_("This is no date such as 2026-12-31, 31.12.2026 or 31/12/2026."))
    first, second, year = int(found[1]), int(found[3]), int(found[4])
    if order == "mdy" and found[2] != ".":
        return _date(year, first, second)
    return _date(year, second, first)


def _date(year: int, month: int, of_month: int) -> date:
    try:
        value = date(year, month, of_month)
    except ValueError:
        raise BadValue(_("There is no such day.")) from None
    if not 1990 <= value.year <= 2200:
        raise BadValue(_("The year is not between 1990 and 2200."))
    return value
