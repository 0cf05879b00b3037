"""What an attempt came to: the values that a worker's thread reports and the ledger records."""

from dataclasses import dataclass, field
from datetime import timedelta

from deliveries.models import Delivery


@dataclass(frozen=True, kw_only=True)
class Sent:
    """The provider accepted it under this id; `replayed` if it had accepted it before."""

    provider_message_id: str
    replayed: bool = False
    # The server judges recipients as it takes the message: whom it refused before, it takes now.
    took_recipients: bool = False


@dataclass(frozen=True, kw_only=True)
class RetryLater:
    error: str
    delay: timedelta
    may_have_accepted: bool
    details: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Dead:
    reason: Delivery.DeadReason
    error: str
    may_have_accepted: bool
    details: dict[str, object] = field(default_factory=dict)
    # By recipient, why that mailbox takes no e-mail.
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Cancelled:
    """It is no longer wanted: the invoice was voided, paid, …"""

    why: str


@dataclass(frozen=True, kw_only=True)
class PutBack:
    """Nothing is known against this delivery: it goes back unburned, neither budget is charged."""

    why: str
    may_have_accepted: bool = True
    # The provider refused our account, or asked for less: should it mean this one, others go first.
    blames_lane: bool = False


Outcome = Sent | RetryLater | Dead | Cancelled | PutBack
