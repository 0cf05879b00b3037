"""What is refused at input, so that it can reach neither an e-mail header nor a document."""

import unicodedata
import zoneinfo
from functools import cache

from babel import Locale, UnknownLocaleError
from babel.numbers import list_currencies
from django.core.exceptions import ValidationError

# Bidirectional overrides can make a text read as another one than it is.
_OVERRIDES = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LINE_SEPARATORS = {"Zl", "Zp"}


def is_control(character: str) -> bool:
    """Tell line breaks, control characters and overrides; a joiner inside an emoji is none."""
    return (
        unicodedata.category(character) in {"Cc", "Cs", *_LINE_SEPARATORS}
        or character in _OVERRIDES
    )


def _unprintable(text: str, *, allowed: str = "") -> bool:
    return any(character not in allowed and is_control(character) for character in text)


def one_line(text: str) -> None:
    """Refuse line breaks and control characters: a name must not become a header of its own."""
    if _unprintable(text):
        raise ValidationError(
            "Remove line breaks and control characters: this must be a single line of text.",
            code="control_characters",
        )


def plain_text(text: str) -> None:
    """Refuse control characters other than line breaks and tabs."""
    if _unprintable(text, allowed="\r\n\t"):
        raise ValidationError(
            "Remove the control characters from this text.", code="control_characters"
        )


def known_currency(code: str) -> None:
    if code not in list_currencies():
        raise ValidationError(
            f"{code!r} is not a currency code such as NGN, EUR or JPY.", code="currency"
        )


def known_locale(code: str) -> None:
    try:
        Locale.parse(code.replace("-", "_"))
    except (UnknownLocaleError, ValueError, TypeError):
        raise ValidationError(
            f"{code!r} is not a language such as en, en-NG or fr.", code="language"
        ) from None


@cache
def _zones() -> set[str]:
    # Looked up once: it walks a directory of some 600 files. "localtime" is wherever a server
    # happens to stand; PostgreSQL does not know it.
    return zoneinfo.available_timezones() - {"localtime"}


def is_known_zone(name: str) -> bool:
    return name in _zones()


def known_time_zone(name: str) -> None:
    if not is_known_zone(name):
        raise ValidationError(
            f"{name!r} is not a time zone such as Africa/Lagos or Europe/Berlin.", code="time_zone"
        )
