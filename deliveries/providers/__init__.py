"""E-mail providers: one module each, behind one small Protocol."""

import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from deliveries.providers.base import Provider, Receipt, dialect, key_lifetime, reported_rate
from deliveries.reports import Dialect

__all__ = [
    "Provider",
    "Receipt",
    "dialect",
    "dialects",
    "find",
    "from_settings",
    "key_lifetime",
    "key_lifetime_of_the_configured",
    "names",
    "reported_rate",
]

_shipped = {
    "resend": "deliveries.providers.resend.ResendProvider",
    "sandbox": "deliveries.providers.sandbox.SandboxProvider",
    "smtp": "deliveries.providers.smtp.SmtpProvider",
}
_OFFERS = ("from_settings", "send", "close")


def names() -> list[str]:
    """Return the names of the adapters that ship."""
    return sorted(_shipped)


def find(name: str) -> Any:
    """Return the adapter's class, by its name here or by its dotted path.

    Raise `ImproperlyConfigured` with what is wrong: unknown, not to be imported, no adapter.
    """
    path = _shipped.get(name, name)
    if "." not in path:
        raise ImproperlyConfigured(
            f"EMAIL_PROVIDER is {name!r}; known are: {', '.join(names())}, "
            "or the dotted path of an adapter's class."
        )
    try:
        adapter = import_string(path)
    except Exception as error:
        raise ImproperlyConfigured(
            f"EMAIL_PROVIDER is {name!r}, which cannot be imported: {error}"
        ) from error
    lacks = [offer for offer in _OFFERS if not callable(getattr(adapter, offer, None))]
    if lacks:
        raise ImproperlyConfigured(
            f"EMAIL_PROVIDER is {name!r}, which is no adapter: it has no {', '.join(lacks)}."
        )
    if wrong := _wrong_attribute(adapter):
        raise ImproperlyConfigured(f"EMAIL_PROVIDER is {name!r}, which is no adapter: {wrong}.")
    return adapter


def from_settings(name: str) -> Provider:
    """Return the provider of that name or dotted path, configured from the settings.

    Raise `ImproperlyConfigured`, whatever went wrong.
    """
    adapter = find(name)
    try:
        provider: Provider = adapter.from_settings()
    except ImproperlyConfigured:
        raise
    except Exception as error:
        # Not its words: they may be a password that could not be read as something else.
        raise ImproperlyConfigured(
            f"EMAIL_PROVIDER is {name!r}, whose from_settings ended with {type(error).__name__} "
            f"({_where(error)})."
        ) from error
    if not callable(getattr(provider, "send", None)):
        raise ImproperlyConfigured(
            f"EMAIL_PROVIDER is {name!r}, whose from_settings returned "
            f"{type(provider).__name__}, which has no send."
        )
    return provider


def key_lifetime_of_the_configured() -> timedelta:
    """Return how long the provider of EMAIL_PROVIDER remembers a key; zero if it knows none."""
    try:
        adapter = find(settings.EMAIL_PROVIDER)
    except ImproperlyConfigured:
        return timedelta(0)  # The system check says so.
    return key_lifetime(adapter) or timedelta(0)


def dialects(name: str) -> list[Dialect]:
    """Return how providers word their events: that one first, then every one that ships."""
    found = []
    for each in dict.fromkeys([name, *_shipped]):
        try:
            adapter = find(each)
        except ImproperlyConfigured:
            continue  # Events of the others are still to be taken.
        if words := dialect(adapter):
            found.append(words)
    return found


def _wrong_attribute(adapter: Any) -> str:
    """Return what is wrong with one of the optional attributes; "" if nothing is."""
    lifetime = getattr(adapter, "key_lifetime", timedelta(0))
    if not isinstance(lifetime, timedelta) or lifetime < timedelta(0):
        return "its key_lifetime is no datetime.timedelta from zero, on the class"
    events = getattr(adapter, "events", None)
    if events is not None and not isinstance(events, Dialect):
        return "its events are no deliveries.reports.Dialect"
    return ""


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"
