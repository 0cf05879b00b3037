"""The numbers that govern deliveries, read once from the settings."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from django.conf import settings


def _seconds(name: str) -> timedelta:
    return timedelta(seconds=getattr(settings, f"DELIVERY_{name}_SECONDS"))


_adapters_key_lifetime: list[Callable[[], timedelta]] = []


def take_key_lifetime_from(adapter: Callable[[], timedelta]) -> None:
    """Ask this from now on how long a key is remembered, where no setting says so."""
    _adapters_key_lifetime[:] = [adapter]


def key_lifetime() -> timedelta:
    """Return how long the provider remembers a key: as set, else as its adapter says."""
    if settings.DELIVERY_KEY_LIFETIME_SECONDS is not None:
        return _seconds("KEY_LIFETIME")
    [ask] = _adapters_key_lifetime
    return ask()


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How long, how often and how many; `deliveries.checks` refuses numbers that do not fit."""

    lease: timedelta
    send_timeout: timedelta
    max_claims: int
    max_attempts: int
    backoff_base: timedelta
    backoff_cap: timedelta
    outage: timedelta
    key_lifetime: timedelta
    poll: timedelta

    @classmethod
    def from_settings(cls) -> Self:
        return cls(
            lease=_seconds("LEASE"),
            send_timeout=_seconds("SEND_TIMEOUT"),
            max_claims=settings.DELIVERY_MAX_CLAIMS,
            max_attempts=settings.DELIVERY_MAX_ATTEMPTS,
            backoff_base=_seconds("BACKOFF_BASE"),
            backoff_cap=_seconds("BACKOFF_CAP"),
            outage=_seconds("OUTAGE"),
            key_lifetime=key_lifetime(),
            poll=_seconds("POLL"),
        )

    @property
    def lease_margin(self) -> timedelta:
        """What must be left of a lease, past the send timeout, to record the outcome in time."""
        return self.lease / 10
