"""What happened to a delivery, and what to do about it, each in a sentence for support."""

from deliveries.models import Delivery

_Reason = Delivery.DeadReason

_WHAT_TO_DO = {
    _Reason.REJECTED: "Correct the customer or the invoice, then replay.",
    _Reason.NOT_SENDABLE: "Put it right in the invoice or the customer, then replay.",
    _Reason.GAVE_UP: "Every attempt failed. Once the provider works again, replay.",
    _Reason.CRASHED: "Workers crashed over it. Let engineering look into the logs first (search "
    "for the correlation id), then replay.",
    _Reason.OUTCOME_UNKNOWN: "The customer may have it. Look in the provider's log for the "
    "idempotency key: if it was sent, cancel; if it was not, replay and confirm.",
}


def what_happened(delivery: Delivery) -> str:
    """Say where a delivery stands, in the provider's or our own words."""
    match delivery.status:
        case Delivery.Status.DEAD:
            reason = Delivery.DeadReason(delivery.dead_reason).label
            said_already = delivery.last_error.startswith(reason)
            return delivery.last_error if said_already else f"{reason}: {delivery.last_error}"
        case Delivery.Status.CANCELLED:
            return f"Cancelled: {delivery.last_error}"
        case Delivery.Status.SENT:
            return "The provider accepted it."
        case Delivery.Status.RETRYING:
            return f"It will be tried again: {delivery.last_error}"
        case Delivery.Status.RUNNING:
            return "A worker is sending it."
        case _:
            return "It waits for a worker."


def what_to_do(delivery: Delivery) -> str:
    """Say what a person is to do; empty where nothing is."""
    if delivery.status != Delivery.Status.DEAD:
        return ""
    return _WHAT_TO_DO[_Reason(delivery.dead_reason)]
