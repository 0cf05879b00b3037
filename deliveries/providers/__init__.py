"""E-mail providers: one module each, behind one small Protocol."""

from collections.abc import Callable

from django.core.exceptions import ImproperlyConfigured

from deliveries.providers.base import Provider, Receipt
from deliveries.providers.sandbox import SandboxProvider

__all__ = ["Provider", "Receipt", "from_settings", "names"]

_providers: dict[str, Callable[[], Provider]] = {"sandbox": SandboxProvider.from_settings}


def names() -> list[str]:
    """Return what EMAIL_PROVIDER may be."""
    return sorted(_providers)


def from_settings(name: str) -> Provider:
    """Return the provider of that name, configured from the settings."""
    try:
        provider = _providers[name]
    except KeyError:
        raise ImproperlyConfigured(
            f"EMAIL_PROVIDER is {name!r}; known are: {', '.join(names())}."
        ) from None
    return provider()
