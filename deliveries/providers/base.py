"""What a provider of e-mail must offer."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from deliveries.models import Message
from deliveries.reports import Dialect


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """The provider accepted the message under `id`; `replayed` if it already had.

    `took_recipients` says that it judged each recipient, and would have refused one that is gone.
    """

    id: str
    replayed: bool = False
    took_recipients: bool = False


class Provider(Protocol):
    """Hands messages over. Called from many threads at once.

    Three attributes are optional, for what not every provider has. On the class: `key_lifetime`, a
    timedelta, how long it remembers an idempotency key (zero, or without it: it knows none), and
    `events`, a `Dialect`, how it words what it tells after sending. On the instance:
    `reported_rate`, the messages per second that it last said it takes.
    """

    def send(self, message: Message, *, idempotency_key: str) -> Receipt:
        """Hand the message over and return the provider's receipt.

        Raise one of `deliveries.errors`: `TemporaryFailure`, `PermanentFailure`,
        `OutcomeUnknown`, `Throttled` or `AccountProblem`. Return within the send timeout.
        """

    def close(self) -> None:
        """Close the connections."""


def key_lifetime(provider: Provider | type) -> timedelta | None:
    """Return how long the provider remembers a key; None where it does not say."""
    lifetime = getattr(provider, "key_lifetime", None)
    return lifetime if isinstance(lifetime, timedelta) else None


def dialect(adapter: type) -> Dialect | None:
    """Return how the provider words its events; None if it tells of none."""
    events = getattr(adapter, "events", None)
    return events if isinstance(events, Dialect) else None


def reported_rate(provider: Provider) -> float | None:
    """Return the messages per second that the provider last said it takes, if it said so."""
    rate = getattr(provider, "reported_rate", None)
    if isinstance(rate, bool) or not isinstance(rate, int | float):
        return None
    return float(rate) if 0 < rate < 1_000_000 else None
