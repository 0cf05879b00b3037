"""What an invoice's page tells of its e-mail: state, steps, the message itself."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from deliveries.models import Delivery
from invoices import reminders
from invoices.models import Invoice, Member
from invoices.pages.formats import Formats
from invoices.pages.lists import fingerprint, problems_to_mend
from invoices.pages.notices import Notice
from invoices.pages.states import (
    EmailState,
    Pill,
    email_state,
    payment_state,
)
from invoices.pages.timelines import (
    Step,
    StoredMessage,
    shown_messages,
    step_of,
    stored_message,
    told_events,
)
from invoices.sending import KIND, is_sendable

# Every click is a step of its own, so a timeline has no natural end.
STEPS_SHOWN = 100


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
        sendable=member.may_send and is_sendable(invoice, delivery),
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
    if delivery is None or delivery.status != Delivery.Status.DEAD or delivery.may_have_arrived:
        return ""
    match delivery.dead_reason:
        case Delivery.DeadReason.REJECTED | Delivery.DeadReason.NOT_SENDABLE:
            return _("Put right what is wrong, then ask support to send it again.")
        case Delivery.DeadReason.GAVE_UP:
            return _("Support can send it again.")
        case _:
            return ""


def _steps(invoice: Invoice, delivery: Delivery | None, formats: Formats) -> tuple[Step, ...]:
    """Return the last steps of the invoice's deliveries, oldest first; one more than is shown.

    Reminders have a card of their own: a year of them would push the invoice's own steps out.
    """
    events = (
        told_events()
        .filter(delivery__invoice=invoice)
        .exclude(delivery__kind=reminders.KIND)
        .select_related("actor", "delivery")
        .order_by("-id")[: STEPS_SHOWN + 1]
    )
    known = delivery.correlation_id if delivery else ""
    steps = [
        step_of(
            event,
            formats,
            known_correlation_id=known,
            kind="" if event.delivery.kind == KIND else event.delivery.kind,
        )
        for event in events
    ]
    return tuple(reversed(steps))


def _message(delivery: Delivery) -> StoredMessage | None:
    message = shown_messages().filter(delivery=delivery).last()
    return stored_message(message, delivery) if message else None
