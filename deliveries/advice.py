"""What happened to a delivery, and what to do about it, each in a sentence for support."""

from deliveries import reasons
from deliveries.models import Delivery

_Reason = Delivery.DeadReason

_WHAT_TO_DO = {
    _Reason.REJECTED: "Correct the customer or the invoice, then replay.",
    _Reason.NOT_SENDABLE: "Put it right in the invoice or the customer, then replay.",
    _Reason.GAVE_UP: "Every attempt failed. Once the provider works again, replay.",
    _Reason.CRASHED: "Workers crashed over it. Let engineering look into the logs first (search "
    "for the correlation id), then replay.",
    _Reason.OUTCOME_UNKNOWN: "The customer may have it. Look in the provider's log for the "
    "idempotency key: if it is there, say “It was sent”; if it is not, replay.",
}
_TONES = {
    Delivery.Status.QUEUED: "busy",
    Delivery.Status.RUNNING: "busy",
    Delivery.Status.RETRYING: "wait",
    Delivery.Status.SENT: "good",
    Delivery.Status.DEAD: "bad",
    Delivery.Status.CANCELLED: "quiet",
}

_Outcome = Delivery.AfterSending
_REPORTED_TONES: dict[str, str] = {
    _Outcome.DELAYED: "wait",
    _Outcome.DELIVERED: "good",
    _Outcome.BOUNCED_FOR_NOW: "wait",
}
_AFTER_SENDING = {
    _Outcome.BOUNCED_FOR_NOW: "It may work later, or at another address of the customer's.",
    _Outcome.SUPPRESSED: "Have the address corrected, or take it off the provider's list.",
    _Outcome.FAILED: "Look in the provider's log for its message id.",
    _Outcome.BOUNCED: "Have the customer's address corrected; then it can be sent again.",
    _Outcome.COMPLAINED: "The customer has it. Have somebody talk to them before more is sent.",
}


def what_happened(delivery: Delivery) -> str:
    """Say where a delivery stands, in the provider's or our own words."""
    match delivery.status:
        case Delivery.Status.DEAD | Delivery.Status.CANCELLED:
            return delivery.last_error
        case Delivery.Status.SENT:
            return _after_sending(delivery)
        case Delivery.Status.RETRYING:
            return f"It will be tried again: {delivery.last_error}"
        case Delivery.Status.RUNNING:
            return "A worker is sending it."
        case _:
            return "It waits for a worker."


def state(delivery: Delivery) -> str:
    """Say in a word or two what a delivery has come to, honest about what nobody knows."""
    return delivery.in_words


def tone(delivery: Delivery) -> str:
    """Return how loud its state is: good, busy, wait, bad or quiet."""
    if delivery.after_sending:
        return _REPORTED_TONES.get(delivery.after_sending, "bad")
    return "wait" if delivery.may_have_arrived else _TONES[Delivery.Status(delivery.status)]


def _after_sending(delivery: Delivery) -> str:
    if not delivery.after_sending:
        return "The provider accepted it."
    return reasons.sentence(delivery.after_sending, delivery.after_sending_reason)


def what_to_do(delivery: Delivery) -> str:
    """Say what a person is to do; empty where nothing is."""
    if delivery.after_sending in Delivery.CAME_BACK:
        return _AFTER_SENDING[Delivery.AfterSending(delivery.after_sending)]
    if delivery.status != Delivery.Status.DEAD:
        return ""
    if delivery.may_have_arrived:
        return _WHAT_TO_DO[_Reason.OUTCOME_UNKNOWN]
    return _WHAT_TO_DO[_Reason(delivery.dead_reason)]
