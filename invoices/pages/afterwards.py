"""What the pages say of an e-mail after it was sent: delivered, bounced, complained of."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _lazy

from deliveries.models import Delivery

_Outcome = Delivery.AfterSending

# What the customer does not have; who complained has it.
CAME_BACK = tuple(each for each in Delivery.CAME_BACK if each != _Outcome.COMPLAINED)

# Label, tone and icon.
_LOOKS = {
    _Outcome.DELAYED: (_lazy("Delayed"), "wait", "clock"),
    _Outcome.DELIVERED: (_lazy("Delivered"), "good", "check"),
    _Outcome.BOUNCED_FOR_NOW: (_lazy("Bounced for now"), "wait", "alert"),
    _Outcome.SUPPRESSED: (_lazy("Suppressed"), "bad", "slash"),
    _Outcome.FAILED: (_lazy("Not delivered"), "bad", "cross"),
    _Outcome.BOUNCED: (_lazy("Bounced for good"), "bad", "cross"),
    _Outcome.COMPLAINED: (_lazy("Complained"), "bad", "alert"),
}
_WHAT_TO_DO = {
    _Outcome.DELAYED: _lazy("The provider keeps trying."),
    _Outcome.BOUNCED_FOR_NOW: _lazy("Ask the customer, or send it again later."),
    _Outcome.SUPPRESSED: _lazy(
        "The provider sends nothing to this address: correct it, or ask support. "
        "Then send it again."
    ),
    _Outcome.FAILED: _lazy("Ask support, then send it again."),
    _Outcome.BOUNCED: _lazy("Correct the address, then send it again."),
    _Outcome.COMPLAINED: _lazy(
        "The customer has it, but reported it as spam: talk to them before you send more."
    ),
}


@dataclass(frozen=True, kw_only=True)
class Afterwards:
    """The label, look and explanation of a report."""

    label: str
    tone: str
    icon: str
    detail: str


def afterwards(delivery: Delivery) -> Afterwards:
    """Return what was reported of a sent delivery, and what to do about it."""
    outcome = _Outcome(delivery.after_sending)
    label, tone, icon = _LOOKS[outcome]
    why = capitalized(delivery.after_sending_reason)
    what_to_do = str(_WHAT_TO_DO.get(outcome, ""))
    return Afterwards(label=str(label), tone=tone, icon=icon, detail=f"{why} {what_to_do}".strip())


def capitalized(reason: str) -> str:
    """Make a sentence of what goes on after a colon."""
    reason = reason.strip()
    if not reason:
        return ""
    sentence = reason[0].upper() + reason[1:]
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."
