"""What a provider of e-mail must offer."""

from dataclasses import dataclass
from typing import Protocol

from deliveries.models import Message


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """The provider accepted the message under `id`; `replayed` if it already had."""

    id: str
    replayed: bool = False


class Provider(Protocol):
    """Hands messages over. Called from many threads at once."""

    def send(self, message: Message, *, idempotency_key: str) -> Receipt:
        """Hand the message over and return the provider's receipt.

        Raise one of `deliveries.errors`: `TemporaryFailure`, `PermanentFailure`,
        `OutcomeUnknown`, `Throttled` or `AccountProblem`. Return within the send timeout.
        """

    def close(self) -> None:
        """Close the connections."""
