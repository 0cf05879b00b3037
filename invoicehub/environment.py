"""Readers of environment variables that refuse nonsense with a sentence saying what to change."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from deliveries import signatures
from deliveries.addresses import with_ascii_domain, without_password

# FileAwareEnv also reads NAME_FILE, so that secrets can come from mounted files.
env = environ.FileAwareEnv()


def text(name: str, default: str = "") -> str:
    """Read a text, or the file that NAME_FILE points at."""
    try:
        return str(env.str(name, default=default)).strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}_FILE names a file that cannot be read: {error.filename} ({error.strerror})."
        ) from None


def flag(name: str, *, default: bool) -> bool:
    raw = text(name, "true" if default else "false").lower()
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false, not {raw!r}.")


def words(name: str, default: str = "") -> list[str]:
    """Read a comma-separated list."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def port(name: str, *, default: int) -> int:
    value = whole_number(name, default=default)
    if value > 65535:
        raise ImproperlyConfigured(f"{name} must be a port, at most 65535, not {value}.")
    return value


def whole_number(name: str, *, default: int, minimum: int = 1) -> int:
    raw = text(name, str(default))
    try:
        value = int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {raw!r}.") from None
    if value < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}, not {value}.")
    return value


TEN_YEARS = 10 * 365 * 86400


def seconds(name: str, *, default: float) -> float:
    """Read a length of time in seconds; zero, negative and infinite are refused."""
    value = _number(name, text(name, str(default)))
    if not 0 < value < TEN_YEARS:
        raise ImproperlyConfigured(f"{name} must be a number of seconds above 0, not {value:g}.")
    return value


def seconds_or_zero(name: str, *, default: float) -> float:
    """Read a length of time in seconds, where zero means that there is no such time."""
    value = _number(name, text(name, str(default)))
    if not 0 <= value < TEN_YEARS:
        raise ImproperlyConfigured(f"{name} must be a number of seconds from 0, not {value:g}.")
    return value


def seconds_if_set(name: str) -> float | None:
    """Read a length of time in seconds, from zero; None where nothing is set."""
    return seconds_or_zero(name, default=0) if text(name) else None


def rate(name: str) -> float | None:
    """Read a rate per second; unset means no limit."""
    raw = text(name)
    if not raw:
        return None
    value = _number(name, raw)
    if not 0 < value < 1_000_000:
        raise ImproperlyConfigured(
            f"{name} must be above 0, or unset for no limit, not {raw!r}. "
            "To stop sending, pause the lane."
        )
    return value


def http_url(name: str, default: str) -> str:
    """Read an address on the web; where nothing is set, or the empty text, the default."""
    raw = text(name) or default
    if not raw:
        return ""
    try:
        parts = urlsplit(raw)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or any(character.isspace() for character in raw):
        raise ImproperlyConfigured(
            f"{name} must be an address such as https://provider.example, "
            f"not {without_password(raw)!r}."
        )
    if "?" in raw or "#" in raw:
        # Paths are appended to it.
        raise ImproperlyConfigured(
            f"{name} must be a base address without ? and #, such as https://provider.example, "
            f"not {without_password(raw)!r}."
        )
    return raw.rstrip("/")


def postgres(name: str) -> dict[str, Any]:
    """Read a database's URL as Django's settings of it; {} where none is set."""
    if not text(name):
        return {}
    try:
        database: dict[str, Any] = dict(env.db_url(name))
    except (ValueError, ImproperlyConfigured) as error:
        raise ImproperlyConfigured(f"{name} cannot be read: {error}") from None
    if database.get("ENGINE") != "django.db.backends.postgresql":
        raise ImproperlyConfigured(
            f"{name} must point at PostgreSQL 14 or later: postgres://user:password@host:5432/name"
        )
    return database


def address(name: str, default: str) -> str:
    """Read a bare e-mail address; display names are each organization's own."""
    raw = text(name, default)
    try:
        validate_email(raw)
    except ValidationError:
        raise ImproperlyConfigured(
            f"{name} must be an e-mail address such as invoices@company.example, not {raw!r}."
        ) from None
    if raw.endswith("]"):
        raise ImproperlyConfigured(
            f"{name} must be an address at a domain, not at a machine by its number: {raw!r}."
        )
    try:
        with_ascii_domain(raw)
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name} must be an address at a domain that can exist, not {raw!r}: {error}."
        ) from None
    return raw


def webhook_keys(name: str) -> list[signatures.Key]:
    """Read the secrets that may sign webhooks: several, while one is replaced.

    With commas between, or blanks, or one on each line.
    """
    try:
        return [signatures.Key.of(word) for word in text(name).replace(",", " ").split()]
    except signatures.InvalidSecret as error:
        raise ImproperlyConfigured(
            f"{name} must be a secret as the provider shows it (whsec_…), or several with commas "
            f"or blanks between: of one that is set, {error}."
        ) from None


def one_of(name: str, choices: set[str], default: str) -> str:
    value = text(name, default)
    if value not in choices:
        raise ImproperlyConfigured(
            f"{name} must be one of {', '.join(sorted(choices))}, not {value!r}."
        )
    return value


def folder(name: str, default: Path) -> Path:
    return Path(text(name, str(default))).expanduser()


def _number(name: str, raw: str) -> float:
    try:
        return float(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {raw!r}.") from None
