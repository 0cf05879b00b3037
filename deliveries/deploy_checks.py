"""`manage.py check --deploy`: what works on a laptop and must not go to production."""

import ipaddress
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004
from django.core.exceptions import ImproperlyConfigured

from deliveries import providers

# Reserved by RFC 2606, 6761 and 6762: no provider sends from there, and no answer arrives.
_NOBODYS = (
    *("example", "test", "invalid", "localhost", "local"),
    *("example.com", "example.net", "example.org"),
)


def is_here(host: str) -> bool:
    """Tell whether what goes there never leaves this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def adapter_can_be_made() -> CheckMessage | None:
    try:
        provider = providers.from_settings(settings.EMAIL_PROVIDER)
    except ImproperlyConfigured as error:
        return Error(
            f"E-mails cannot be sent as configured: {error}",
            hint="Set what it names, then try `manage.py send_test_email ADDRESS`.",
            id="deliveries.E007",
        )
    provider.close()
    return None


def address_is_encrypted() -> CheckMessage | None:
    parts = urlsplit(settings.EMAIL_PROVIDER_URL)
    if parts.scheme != "http" or is_here(parts.hostname or ""):
        return None
    return Error(
        f"EMAIL_PROVIDER_URL is {settings.EMAIL_PROVIDER_URL}: invoices and the API key would "
        "cross the network in the clear.",
        hint="Use an https:// address.",
        id="deliveries.E008",
    )


def sender_can_be_answered() -> CheckMessage | None:
    domain = settings.EMAIL_FROM.rpartition("@")[2].lower().rstrip(".")
    if not any(f".{domain}".endswith(f".{reserved}") for reserved in _NOBODYS):
        return None
    return Error(
        f"EMAIL_FROM is {settings.EMAIL_FROM}, at a domain that is reserved for examples: no "
        "provider sends from there.",
        hint="Set EMAIL_FROM to an address at a domain that your provider has verified.",
        id="deliveries.E009",
    )


def password_is_encrypted() -> CheckMessage | None:
    if settings.EMAIL_PROVIDER != "smtp" or settings.EMAIL_SECURITY != "none":
        return None
    if is_here(settings.EMAIL_HOST):
        return None
    if settings.EMAIL_HOST_PASSWORD:
        return Error(
            "EMAIL_SECURITY is none, but EMAIL_HOST_PASSWORD is set: the password would cross the "
            f"network to {settings.EMAIL_HOST} in the clear.",
            hint="Set EMAIL_SECURITY to starttls or tls.",
            id="deliveries.E010",
        )
    return Warning(
        f"EMAIL_SECURITY is none: invoices cross the network to {settings.EMAIL_HOST} in the "
        "clear.",
        hint="Set EMAIL_SECURITY to starttls or tls, unless that network is yours alone.",
        id="deliveries.W001",
    )


def provider_is_real() -> CheckMessage | None:
    if settings.EMAIL_PROVIDER != "sandbox":
        return None
    return Warning(
        "EMAIL_PROVIDER is sandbox: it keeps every e-mail in its own inbox, and no customer gets "
        "one.",
        hint="Set EMAIL_PROVIDER to resend, smtp or an adapter of yours; see docs/providers.md.",
        id="deliveries.W002",
    )


_RULES: Sequence[Callable[[], CheckMessage | None]] = (
    adapter_can_be_made,
    address_is_encrypted,
    sender_can_be_answered,
    password_is_encrypted,
    provider_is_real,
)


@register(Tags.security, deploy=True)
def check_deployment(**kwargs: Any) -> list[CheckMessage]:
    try:
        providers.find(settings.EMAIL_PROVIDER)
    except ImproperlyConfigured:
        return []  # deliveries.E005 says so.
    return [message for rule in _RULES if (message := rule()) is not None]
