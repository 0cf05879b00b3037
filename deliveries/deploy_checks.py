"""`manage.py check --deploy`: what works on a laptop and must not go to production."""

import ipaddress
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004
from django.core.exceptions import ImproperlyConfigured

from deliveries import providers
from deliveries.addresses import without_password

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
    with suppress(Exception):
        provider.close()
    return None


def address_is_encrypted() -> CheckMessage | None:
    parts = urlsplit(settings.EMAIL_PROVIDER_URL)
    if parts.scheme != "http" or is_here(parts.hostname or ""):
        return None
    url = without_password(settings.EMAIL_PROVIDER_URL)
    return Error(
        f"EMAIL_PROVIDER_URL is {url}: invoices and the API key would "
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


def login_is_whole() -> CheckMessage | None:
    user, password = settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD
    if settings.EMAIL_PROVIDER != "smtp" or bool(user) == bool(password):
        return None
    given, missing = "EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD"
    if password:
        given, missing = missing, given
    return Error(
        f"{given} is set, but {missing} is not: nobody would log in to the mail server.",
        hint=f"Set {missing}, or neither where the mail server takes mail from this host without "
        "a login.",
        id="deliveries.E013",
    )


def port_fits_the_encryption() -> CheckMessage | None:
    port, security = settings.EMAIL_PORT, settings.EMAIL_SECURITY
    # RFC 8314: TLS from the first byte on there, and nowhere else.
    odd = (port == 465 and security != "tls") or (port in {25, 587} and security == "tls")
    if settings.EMAIL_PROVIDER != "smtp" or not odd:
        return None
    usual = "tls" if port == 465 else "starttls"
    return Warning(
        f"EMAIL_PORT is {port}, where mail servers speak {usual}, but EMAIL_SECURITY is "
        f"{security}.",
        hint=f"Set EMAIL_SECURITY to {usual}, unless your mail server is an unusual one.",
        id="deliveries.W003",
    )


def address_is_the_base() -> CheckMessage | None:
    url = settings.EMAIL_PROVIDER_URL
    if settings.EMAIL_PROVIDER != "resend" or not url.endswith("/emails"):
        return None
    return Error(
        "EMAIL_PROVIDER_URL ends in /emails, which is put behind it once more: every e-mail would "
        "be answered 404.",
        hint="Leave EMAIL_PROVIDER_URL unset, or cut /emails off.",
        id="deliveries.E014",
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
    login_is_whole,
    port_fits_the_encryption,
    address_is_the_base,
    provider_is_real,
)


@register(Tags.security, deploy=True)
def check_deployment(**kwargs: Any) -> list[CheckMessage]:
    try:
        providers.find(settings.EMAIL_PROVIDER)
    except ImproperlyConfigured:
        return []  # deliveries.E005 says so.
    return [message for rule in _RULES if (message := rule()) is not None]
