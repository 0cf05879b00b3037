"""System checks: settings whose numbers do not fit each other are refused at start."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured

from deliveries import events, providers, retry
from deliveries.policy import Policy


def _long(length: timedelta) -> str:
    return f"{length.total_seconds():,.0f} s"


def lease_outlasts_a_send(policy: Policy) -> CheckMessage | None:
    if policy.lease > policy.send_timeout + policy.lease_margin:
        return None
    return Error(
        "A lease ends before an exchange with the provider may: "
        f"DELIVERY_LEASE_SECONDS is {policy.lease.total_seconds():g}, "
        f"DELIVERY_SEND_TIMEOUT_SECONDS is {policy.send_timeout.total_seconds():g}.",
        hint="Set DELIVERY_LEASE_SECONDS to four times DELIVERY_SEND_TIMEOUT_SECONDS or more: "
        "a tenth of the lease is kept for recording the outcome.",
        id="deliveries.E001",
    )


def retries_outlast_an_outage(policy: Policy) -> CheckMessage | None:
    shortest = retry.schedule(policy=policy, chance=0)
    if shortest >= policy.outage:
        return None
    return Error(
        f"Retries may end after {_long(shortest)}, before an outage of "
        f"DELIVERY_OUTAGE_SECONDS ({_long(policy.outage)}) does.",
        hint="Raise DELIVERY_MAX_ATTEMPTS, DELIVERY_BACKOFF_BASE_SECONDS or "
        "DELIVERY_BACKOFF_CAP_SECONDS, or lower DELIVERY_OUTAGE_SECONDS.",
        id="deliveries.E002",
    )


def retries_end_before_the_key(policy: Policy) -> CheckMessage | None:
    if not policy.key_lifetime:
        return None  # Without keys nothing is sent again that may have been accepted.
    longest = retry.schedule(policy=policy, chance=1) + policy.max_attempts * policy.send_timeout
    if longest < policy.key_lifetime:
        return None
    return Error(
        f"Retries may go on for {_long(longest)}, longer than the provider remembers a key "
        f"(DELIVERY_KEY_LIFETIME_SECONDS, {_long(policy.key_lifetime)}): a customer could get "
        "an invoice twice.",
        hint="Lower DELIVERY_MAX_ATTEMPTS or DELIVERY_BACKOFF_CAP_SECONDS, or set "
        "DELIVERY_KEY_LIFETIME_SECONDS to what your provider promises.",
        id="deliveries.E003",
    )


def backoff_cap_above_base(policy: Policy) -> CheckMessage | None:
    if policy.backoff_cap >= policy.backoff_base:
        return None
    return Error(
        "DELIVERY_BACKOFF_CAP_SECONDS is below DELIVERY_BACKOFF_BASE_SECONDS.",
        hint="The cap is the longest wait between attempts, the base is the first.",
        id="deliveries.E004",
    )


_RULES: Sequence[Callable[[Policy], CheckMessage | None]] = (
    lease_outlasts_a_send,
    retries_outlast_an_outage,
    retries_end_before_the_key,
    backoff_cap_above_base,
)


@register
def check_provider(**kwargs: Any) -> list[CheckMessage]:
    """Refuse an adapter that is none, and a key lifetime that its provider does not keep."""
    try:
        adapter = providers.find(settings.EMAIL_PROVIDER)
    except ImproperlyConfigured as error:
        return [
            Error(
                str(error),
                hint=f"Known are: {', '.join(providers.names())}, or a dotted path such as "
                "company.mail.PostProvider (docs/providers.md shows how to write one).",
                id="deliveries.E005",
            )
        ]
    remembered = providers.key_lifetime(adapter)
    if remembered is None or Policy.from_settings().key_lifetime <= remembered:
        return []
    return [
        Error(
            f"DELIVERY_KEY_LIFETIME_SECONDS is {settings.DELIVERY_KEY_LIFETIME_SECONDS:,.0f}, but "
            f"EMAIL_PROVIDER={settings.EMAIL_PROVIDER} remembers an idempotency key for "
            f"{_long(remembered)} only: a customer could get an invoice twice.",
            hint=f"Set DELIVERY_KEY_LIFETIME_SECONDS to {remembered.total_seconds():.0f} or less, "
            "or leave it unset.",
            id="deliveries.E006",
        )
    ]


@register(Tags.security, deploy=True)
def check_webhook_secret(**kwargs: Any) -> list[CheckMessage]:
    if settings.EMAIL_PROVIDER_WEBHOOK_KEYS or settings.EMAIL_PROVIDER not in events.DIALECTS:
        return []
    return [
        Error(
            f"{settings.EMAIL_PROVIDER} tells what became of e-mails, and nobody can take it: "
            "EMAIL_PROVIDER_WEBHOOK_SECRET is not set.",
            hint="Make a webhook to /webhooks/email at the provider, and set the secret that it "
            "signs with (whsec_…). Bounces would go unnoticed otherwise.",
            id="deliveries.E006",
        )
    ]


@register
def check_policy(**kwargs: Any) -> list[CheckMessage]:
    policy = Policy.from_settings()
    return [message for rule in _RULES if (message := rule(policy)) is not None]
