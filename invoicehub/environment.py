"""Readers of environment variables that refuse nonsense with a sentence saying what to change."""

import ipaddress
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from deliveries import signatures
from deliveries.addresses import with_ascii_domain, without_password

_DATABASE_URL = "postgres://user:password@host:5432/name"

# What a URL may say otherwise: a host that is gone, or a connection that a firewall forgot, is
# noticed before people give up. A server that hangs is not, since its kernel still answers.
PATIENCE = {
    "connect_timeout": 4,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def text(name: str, default: str = "") -> str:
    """Read a text, or the file that NAME_FILE points at; both at once are refused."""
    if f"{name}_FILE" in os.environ:
        return _text_of_file(name)
    return os.environ.get(name, default).strip()


def _text_of_file(name: str) -> str:
    """An empty file is refused: whoever names one means a secret, and would run without it."""
    if os.environ.get(name, "").strip():
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set: remove one of them.")
    file = os.environ[f"{name}_FILE"].strip()
    if not file:
        raise ImproperlyConfigured(f"{name}_FILE is empty: name a file, or remove it.")
    try:
        value = Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}_FILE names a file that cannot be read: {file} ({error.strerror})."
        ) from None
    except ValueError:
        raise ImproperlyConfigured(f"{name}_FILE names a file that is no text: {file}.") from None
    if not value:
        raise ImproperlyConfigured(f"{name}_FILE names an empty file: {file}.")
    return value


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
    return whole_number(name, default=default, maximum=65535)


def whole_number(name: str, *, default: int, minimum: int = 1, maximum: int = 2_147_483_647) -> int:
    raw = text(name, str(default))
    try:
        value = int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {raw[:40]!r}.") from None
    if value < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}, not {value}.")
    if value > maximum:
        raise ImproperlyConfigured(f"{name} must be at most {maximum}, not {raw[:40]}.")
    return value


TEN_YEARS = 10 * 365 * 86400


def seconds(name: str, *, default: float) -> float:
    """Read a length of time in seconds; zero, negative and infinite are refused."""
    value = _number(name, text(name, str(default)))
    if not 0 < value < TEN_YEARS:
        raise ImproperlyConfigured(
            f"{name} must be a number of seconds above 0 and below ten years, not {value:g}."
        )
    return value


def seconds_or_zero(name: str, *, default: float) -> float:
    """Read a length of time in seconds, where zero means that there is no such time."""
    value = _number(name, text(name, str(default)))
    if not 0 <= value < TEN_YEARS:
        raise ImproperlyConfigured(
            f"{name} must be a number of seconds from 0 to ten years, not {value:g}."
        )
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
    raw = text(name)
    if not raw:
        return {}
    database = _parsed(raw)
    # A / or ? of the password's own ends the host early, and the rest becomes the name.
    is_ours = database.get("ENGINE") == "django.db.backends.postgresql"
    if not database or (is_ours and not re.fullmatch(r"[^@/]+", database["NAME"])):
        raise ImproperlyConfigured(
            f"{name} cannot be read. It must look like {_DATABASE_URL}, with what "
            "its password has of /, ?, #, %, @ and : as %2F, %3F, %23, %25, %40 and %3A."
        )
    if not is_ours:
        raise ImproperlyConfigured(f"{name} must point at PostgreSQL 14 or later: {_DATABASE_URL}")
    options = PATIENCE | database.get("OPTIONS", {})
    # A socket's folder stands in the host as %2Fvar%2Frun, or behind the ?, as libpq takes it.
    database["HOST"] = options.pop("host", "") or unquote(database.get("HOST") or "")
    database["OPTIONS"] = options
    return database


def _parsed(url: str) -> dict[str, Any]:
    """Return {} for what is none: the reader's own words would quote it, password and all."""
    try:
        return dict(environ.Env.db_url_config(url))
    except (ValueError, ImproperlyConfigured):
        return {}


def ip_address(name: str, default: str) -> str:
    raw = text(name, default)
    try:
        return str(ipaddress.ip_address(raw))
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} must be an IP address to listen at, such as 127.0.0.1 or 0.0.0.0, not {raw!r}."
        ) from None


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
