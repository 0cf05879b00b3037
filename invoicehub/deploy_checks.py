"""`manage.py check --deploy`: settings of the site that start, and should not go to production."""

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004

from invoicehub import static_files

SHORTEST_TOKEN = 16
# A logo, or an import of some thousand lines.
SMALLEST_BODY = 1024 * 1024
MOST_PROXIES = 5
LONGEST_LOGIN_DAYS = 90


def static_files_are_there() -> CheckMessage | None:
    if not static_files.are_missing():
        return None
    return Error(
        f"There are no static files in {settings.STATIC_ROOT}: no page can be made without them.",
        hint="Run `manage.py collectstatic`, as a user who may write there.",
        id="invoicehub.E005",
    )


def hosts_are_named() -> CheckMessage | None:
    if not any(host in {"*", "."} for host in settings.ALLOWED_HOSTS):
        return None
    return Warning(
        "ALLOWED_HOSTS has *: links in e-mails and pages could be made to lead anywhere.",
        hint="Name the hosts that serve the site.",
        id="invoicehub.W001",
    )


def metrics_token_is_long() -> CheckMessage | None:
    if not 0 < len(settings.METRICS_TOKEN) < SHORTEST_TOKEN:
        return None
    return Warning(
        f"METRICS_TOKEN has less than {SHORTEST_TOKEN} characters: it can be guessed.",
        hint="Make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        id="invoicehub.W002",
    )


def bodies_fit() -> CheckMessage | None:
    if settings.MAX_REQUEST_BYTES >= SMALLEST_BODY:
        return None
    return Warning(
        f"MAX_REQUEST_BYTES is {settings.MAX_REQUEST_BYTES}: imports and logos are refused, and "
        "forms may be.",
        hint=f"Set it to {SMALLEST_BODY} or more, or leave it unset.",
        id="invoicehub.W003",
    )


def proxies_can_be_counted() -> CheckMessage | None:
    number, redirects = settings.TRUSTED_PROXIES, settings.SECURE_SSL_REDIRECT
    if number > MOST_PROXIES:
        return Warning(
            f"TRUSTED_PROXIES is {number}: whoever asks could write addresses of his own into "
            "X-Forwarded-For, and guess passwords without being slowed down.",
            hint="Set it to the number of proxies that stand one behind the other, mostly 1.",
            id="invoicehub.W004",
        )
    if number or not redirects:
        return None
    return Warning(
        "TRUSTED_PROXIES is 0 and SECURE_SSL_REDIRECT is on: behind a proxy that ends TLS every "
        "page would lead to itself for ever.",
        hint="Set TRUSTED_PROXIES to 1; or, where the web server ends TLS itself, ignore this.",
        id="invoicehub.W005",
    )


def logins_end() -> CheckMessage | None:
    days = settings.SESSION_COOKIE_AGE // 86400
    if days <= LONGEST_LOGIN_DAYS:
        return None
    return Warning(
        f"SESSION_COOKIE_AGE lets a login hold for {days} days, also a stolen one.",
        hint=f"Set it to {LONGEST_LOGIN_DAYS} days ({LONGEST_LOGIN_DAYS * 86400}) or less.",
        id="invoicehub.W006",
    )


_RULES: Sequence[Callable[[], CheckMessage | None]] = (
    static_files_are_there,
    hosts_are_named,
    metrics_token_is_long,
    bodies_fit,
    proxies_can_be_counted,
    logins_end,
)


@register(Tags.security, deploy=True)
def check_site(**kwargs: Any) -> list[CheckMessage]:
    return [message for rule in _RULES if (message := rule()) is not None]
