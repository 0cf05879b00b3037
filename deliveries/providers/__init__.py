"""E-mail providers: one module each, behind one small Protocol."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from deliveries.providers.base import Provider, Receipt, key_lifetime, reported_rate

__all__ = [
    "Provider",
    "Receipt",
    "find",
    "from_settings",
    "key_lifetime",
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
    return adapter


def from_settings(name: str) -> Provider:
    """Return the provider of that name or dotted path, configured from the settings."""
    provider: Provider = find(name).from_settings()
    return provider
