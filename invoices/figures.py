"""Reading figures as people type them in their locale: 1.234,50 in German, 1,234.50 in English."""

import re
from decimal import Decimal

from babel import Locale
from babel.numbers import NumberFormatError, format_decimal, parse_decimal
from django.utils.translation import gettext as _

from invoices import money

_LONGEST = 40
_SPACES = re.compile(r"\s+")
_FIGURE = re.compile(r"[+-]?[\d.,'’\s]+")
# Beyond this no figure of an invoice makes sense, and a decimal context would round.
_TOO_LARGE = 10**18
_MOST_OF_A_CURRENCY = 3
_DASHES = str.maketrans(dict.fromkeys("\N{MINUS SIGN}\N{EN DASH}", "-"))


class NoFigure(ValueError):
    """The text is no number as that locale writes them; the text of this says what would be."""


def parse(text: str, locale: Locale, *, places: int) -> Decimal:
    """Return the number, which has at most so many decimal places. Raise `NoFigure`."""
    text = text.strip().translate(_DASHES)
    if not _FIGURE.fullmatch(text) or len(text) > _LONGEST:
        raise NoFigure(_no_number(text, locale, places))
    _insist_on_the_locales_marks(text, locale, places)
    try:
        figure = parse_decimal(_grouped(text, locale), locale=locale, strict=True)
    except NumberFormatError as error:
        raise NoFigure(_no_number(text, locale, places)) from error
    if abs(figure) >= _TOO_LARGE:
        raise NoFigure(_("This number is too large."))
    _check_places(figure, places)
    return figure


def _insist_on_the_locales_marks(text: str, locale: Locale, places: int) -> None:
    """Refuse a point or comma that is neither decimal mark nor grouping there.

    The parser lets "1.500" pass as 1.5 where the comma is the decimal mark and a space groups.
    """
    symbols = locale.number_symbols["latn"]
    if any(mark in text for mark in {".", ","} - {symbols["decimal"], symbols["group"]}):
        raise NoFigure(_no_number(text, locale, places))


def parse_minor(text: str, locale: Locale, *, currency: str) -> int:
    """Return an amount in the currency's minor unit. Raise `NoFigure`."""
    places = money.minor_unit_exponent(currency)
    figure = parse(text, locale, places=places)
    return int(figure.scaleb(places))


def typed(figure: Decimal, locale: Locale) -> str:
    """Write a number as somebody would type it: no grouping, no digit lost."""
    return format_decimal(figure, locale=locale, decimal_quantization=False, group_separator=False)


def typed_price(price_minor: int, locale: Locale, *, currency: str) -> str:
    """Write a price as somebody would type it, with all places of its currency: 1234,50."""
    places = money.minor_unit_exponent(currency)
    pattern = f"0.{'0' * places}" if places else "0"
    return format_decimal(Decimal(price_minor).scaleb(-places), pattern, locale=locale)


def _grouped(text: str, locale: Locale) -> str:
    """Let any space and any apostrophe be the locale's own, where it groups by one."""
    group = locale.number_symbols["latn"]["group"]
    if group.isspace():
        return _SPACES.sub(group, text)
    if group in "'’":
        return re.sub("['’]", group, text)
    return text


def _check_places(figure: Decimal, places: int) -> None:
    # As typed: 1.500 of a currency with two places was meant otherwise.
    exponent = figure.as_tuple().exponent
    if isinstance(exponent, int) and -exponent > places:
        if not places:
            raise NoFigure(_("Enter a whole number, without decimal places."))
        raise NoFigure(_("Enter at most %(places)s decimal places.") % {"places": places})


def _no_number(text: str, locale: Locale, places: int) -> str:
    # Money with all of its places; quantities and rates have more than anybody types.
    digits = ("0" if places <= _MOST_OF_A_CURRENCY else "#") * places
    pattern = f"#,##0.{digits}" if places else "#,##0"
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return _("“%(text)s” is no number here: write it like %(example)s.") % {
        "text": shown,
        "example": format_decimal(Decimal("1234.5"), pattern, locale=locale),
    }
