"""System checks: settings whose numbers do not fit each other are refused at start."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured

from deliveries import providers, retry, signatures
from deliveries.policy import Policy, key_lifetime


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
        f"({_says_how_long()}, {_long(policy.key_lifetime)}): a customer could get "
        "an invoice twice.",
        hint="Lower DELIVERY_MAX_ATTEMPTS or DELIVERY_BACKOFF_CAP_SECONDS (and "
        "DELIVERY_OUTAGE_SECONDS with them); or set DELIVERY_KEY_LIFETIME_SECONDS to what your "
        "provider promises, or to 0: then what may have been accepted waits for a person.",
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
    return [_key_too_long(adapter)] if _outlives_the_providers_memory() else []


@register(Tags.security, deploy=True)
def check_webhook_secret(**kwargs: Any) -> list[CheckMessage]:
    keys = settings.EMAIL_PROVIDER_WEBHOOK_KEYS
    if signatures.Key.of(signatures.EXAMPLE) in keys:
        return [
            Error(
                "EMAIL_PROVIDER_WEBHOOK_SECRET holds the example of the documentation: anybody "
                "could report what they like.",
                hint="Set the secret that your provider shows for its webhook.",
                id="deliveries.E012",
            )
        ]
    if keys or not _tells_of_events():
        return []
    return [
        Error(
            f"{settings.EMAIL_PROVIDER} tells what became of e-mails, and nobody can take it: "
            "EMAIL_PROVIDER_WEBHOOK_SECRET is not set.",
            hint="Make a webhook to /webhooks/email at the provider, and set the secret that it "
            "signs with (whsec_…). Bounces would go unnoticed otherwise.",
            id="deliveries.E011",
        )
    ]


@register
def check_policy(**kwargs: Any) -> list[CheckMessage]:
    policy = Policy.from_settings()
    rules = [
        rule
        for rule in _RULES
        # E006 says to lower what E003 might say to raise.
        if rule is not retries_end_before_the_key or not _outlives_the_providers_memory()
    ]
    return [message for rule in rules if (message := rule(policy)) is not None]


def _key_too_long(adapter: Any) -> CheckMessage:
    remembered, or_else = providers.key_lifetime(adapter), ""
    if remembered is None:
        knows = "does not say how long it remembers an idempotency key, which counts as not at all"
        or_else = ", or give the adapter a key_lifetime"
    elif remembered:
        knows = f"remembers an idempotency key for {_long(remembered)} only"
    else:
        knows = "knows no idempotency keys"
    return Error(
        f"DELIVERY_KEY_LIFETIME_SECONDS is {settings.DELIVERY_KEY_LIFETIME_SECONDS:,.0f}, but "
        f"EMAIL_PROVIDER={settings.EMAIL_PROVIDER} {knows}: a customer could get an invoice twice.",
        hint=f"Leave DELIVERY_KEY_LIFETIME_SECONDS unset: it is the adapter's then{or_else}.",
        id="deliveries.E006",
    )


def _outlives_the_providers_memory() -> bool:
    """Tell whether a key is set to be trusted for longer than the adapter says. E005 goes first."""
    try:
        providers.find(settings.EMAIL_PROVIDER)
    except ImproperlyConfigured:
        return False
    return key_lifetime() > providers.key_lifetime_of_the_configured()


def _tells_of_events() -> bool:
    try:
        return providers.dialect(providers.find(settings.EMAIL_PROVIDER)) is not None
    except ImproperlyConfigured:
        return False


def _says_how_long() -> str:
    if settings.DELIVERY_KEY_LIFETIME_SECONDS is not None:
        return "DELIVERY_KEY_LIFETIME_SECONDS"
    return f"key_lifetime of EMAIL_PROVIDER={settings.EMAIL_PROVIDER}"
