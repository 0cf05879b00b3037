"""What a provider tells us afterwards of a message that it accepted, as a value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from deliveries.models import Delivery, ProviderEvent

# The tag that goes out with a message, so that its events name our key. Part of the bytes that a
# retry repeats: another name would make 409, outcome unknown, of whatever is being retried.
KEY_TAG = "idempotency_key"


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How one provider words its events: the table of its types, and where things stand.

    An adapter that has one as its `events` is understood at the webhook. Raise `ValueError` for
    an outcome that is none.
    """

    # By type, what became of the message: a word of `Delivery.AfterSending`. None for what the
    # provider tells of and we need not know: opened, clicked.
    types: Mapping[str, str | None]
    # Where the event's data hold the id that stood in the receipt.
    message_id: Callable[[dict[str, Any]], object] = lambda data: (
        data.get("id") or data.get("message_id")
    )
    # By type, the part of the data that explains it: "bounce", with type, subType and message.
    details: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for outcome in self.types.values():
            if outcome is not None:
                Delivery.AfterSending(outcome)


@dataclass(frozen=True, kw_only=True)
class Report:
    """One event, read: whose it is, and what it says became of the message.

    `outcome` is None where it says nothing of that: `opened`, or a type that we do not know.
    """

    event_id: str
    # In the provider's word: "email.bounced".
    type: str
    outcome: Delivery.AfterSending | None = None
    provider_message_id: str = ""
    # The idempotency key, where the provider gives our tags back.
    tag: str = ""
    # By the provider's clock; None where it does not say, or says nonsense.
    at: datetime | None = None
    # What happened, to go on after a colon: "the mailbox does not exist".
    reason: str = ""
    # Whose mailbox it was, where that is certain.
    address: str = ""
    payload: dict[str, object] = field(default_factory=dict)
    # What to keep it as if it moves nothing.
    shelf: ProviderEvent.State = ProviderEvent.State.WAITING
