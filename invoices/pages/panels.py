"""What an invoice's page tells of its e-mail: state, steps, the message itself."""

from dataclasses import dataclass
from typing import Any

from django.db.models.fields.json import KT
from django.utils.translation import gettext as _

from deliveries.models import Delivery, DeliveryEvent, Message
from invoices.models import Invoice, Member
from invoices.pages.formats import Formats, Moment
from invoices.pages.lists import fingerprint, is_sendable, problems_to_mend
from invoices.pages.notices import Notice
from invoices.pages.states import (
    EmailState,
    Pill,
    email_state,
    may_have_arrived,
    payment_state,
)
from invoices.sending import KIND

# Every click is a step of its own, so a timeline has no natural end.
STEPS_SHOWN = 100

_Type = DeliveryEvent.Type
_STEP_LOOKS: dict[str, tuple[str, str]] = {
    _Type.REQUESTED: ("plain", "arrow"),
    _Type.REQUESTED_AGAIN: ("quiet", "dash"),
    _Type.ATTEMPT_FAILED: ("wait", "retry"),
    _Type.SENT: ("good", "check"),
    _Type.DIED: ("bad", "cross"),
    _Type.LEASE_LOST: ("wait", "alert"),
    _Type.RELEASED: ("quiet", "arrow"),
    _Type.REPLAYED: ("plain", "arrow"),
    _Type.CANCELLED: ("quiet", "slash"),
}


@dataclass(frozen=True, kw_only=True)
class Step(Pill):
    """One line of the timeline."""

    moment: Moment
    sentence: str
    person: str
    worker: str
    attempt: int | None
    # Empty where it is the delivery's own.
    correlation_id: str
    # Empty for the invoice's own e-mail: "reminder".
    kind: str


@dataclass(frozen=True, kw_only=True)
class StoredMessage:
    """The e-mail exactly as it is handed over."""

    from_address: str
    to: str
    cc: str
    reply_to: str
    subject: str
    text: str
    # What this message is: the one that was sent, or one that still may be.
    heading: str


@dataclass(frozen=True, kw_only=True)
class EmailPanel:
    id: int
    number: str
    recipient: str
    payment: Pill
    email: EmailState
    sendable: bool
    problems: tuple[str, ...]
    advice: str
    delivery_id: int | None
    correlation_id: str
    provider_message_id: str
    steps: tuple[Step, ...]
    earlier_steps: bool
    message: StoredMessage | None
    version: str


def email_panel(
    invoice: Invoice, *, member: Member, formats: Formats, notices: tuple[Notice, ...]
) -> EmailPanel:
    """Return the panel of an invoice whose customer is loaded; three queries."""
    delivery = Delivery.objects.about(invoice).filter(kind=KIND).first()
    email = email_state(invoice, delivery, formats)
    payment = payment_state(invoice, formats)
    problems = problems_to_mend(invoice, email)
    steps = _steps(invoice, delivery, formats)
    message = _message(delivery) if delivery else None
    return EmailPanel(
        id=invoice.pk,
        number=invoice.number,
        recipient=invoice.customer.email.strip(),
        payment=payment,
        email=email,
        sendable=is_sendable(invoice, member),
        problems=problems,
        advice=_advice(delivery),
        delivery_id=delivery.pk if delivery else None,
        correlation_id=delivery.correlation_id if delivery else "",
        provider_message_id=delivery.provider_message_id if delivery else "",
        steps=steps[-STEPS_SHOWN:],
        earlier_steps=len(steps) > STEPS_SHOWN,
        message=message,
        version=fingerprint(email, payment, problems, steps, message, notices),
    )


def _advice(delivery: Delivery | None) -> str:
    """Say who can do what, unless the state's own detail does."""
    if delivery is None or delivery.status != Delivery.Status.DEAD or may_have_arrived(delivery):
        return ""
    match delivery.dead_reason:
        case Delivery.DeadReason.REJECTED | Delivery.DeadReason.NOT_SENDABLE:
            return _("Put right what is wrong, then ask support to send it again.")
        case Delivery.DeadReason.GAVE_UP:
            return _("Support can send it again.")
        case _:
            return ""


def _steps(invoice: Invoice, delivery: Delivery | None, formats: Formats) -> tuple[Step, ...]:
    """Return the last steps of the invoice's deliveries, oldest first; one more than is shown."""
    events = (
        DeliveryEvent.objects.filter(delivery__invoice=invoice)
        .select_related("actor", "delivery")
        .defer("details")
        .annotate(dead_reason=KT("details__dead_reason"))
        .order_by("-id")[: STEPS_SHOWN + 1]
    )
    known = delivery.correlation_id if delivery else ""
    return tuple(reversed([_step(event, known, formats) for event in events]))


def _step(event: Any, known_correlation_id: str, formats: Formats) -> Step:
    tone, icon = _STEP_LOOKS.get(event.type, ("plain", "ring"))
    if event.dead_reason == Delivery.DeadReason.OUTCOME_UNKNOWN:
        tone, icon = "wait", "question"
    return Step(
        label=event.get_type_display(),
        tone=tone,
        icon=icon,
        moment=formats.exact(event.at),
        sentence=event.sentence,
        person=(event.actor.get_full_name() or event.actor.get_username()) if event.actor else "",
        worker=event.worker,
        attempt=event.attempt,
        correlation_id="" if event.correlation_id == known_correlation_id else event.correlation_id,
        kind="" if event.delivery.kind == KIND else event.delivery.kind,
    )


def _message(delivery: Delivery) -> StoredMessage | None:
    message = Message.objects.filter(delivery=delivery).defer("html", "attachments").last()
    if message is None:
        return None
    return StoredMessage(
        from_address=message.from_address,
        to=", ".join(message.to),
        cc=", ".join(message.cc),
        reply_to=message.reply_to,
        subject=message.subject,
        text=message.text,
        heading=_heading(delivery),
    )


def _heading(delivery: Delivery) -> str:
    if delivery.status == Delivery.Status.SENT:
        return _("The e-mail as it was sent")
    if delivery.status in Delivery.FINAL:
        return _("The e-mail as it was last handed over")
    return _("The e-mail as it is handed over")
