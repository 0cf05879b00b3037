"""What an invoice's page tells of its e-mail: state, steps, the message itself."""

from dataclasses import dataclass

from deliveries.models import Delivery
from invoices import reminders
from invoices.addresses import recipients_of
from invoices.models import Invoice, Member
from invoices.pages.actions import Actions, ToMend, actions_of, to_mend
from invoices.pages.formats import Formats
from invoices.pages.lists import fingerprint
from invoices.pages.notices import Notice
from invoices.pages.refusals import Warned, warnings_of
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
    step_of_invoice,
    stored_message,
    told_events,
)
from invoices.resending import Retry, retry_of
from invoices.sending import KIND, is_sendable, last_delivery

# Every click is a step of its own, so a timeline has no natural end.
STEPS_SHOWN = 100


@dataclass(frozen=True, kw_only=True)
class EmailPanel:
    id: int
    number: str
    customer_id: int
    to: str
    cc: str
    # Whether `to` and `cc` are still to be used: those of a stored e-mail stand in its message.
    shows_recipients: bool
    payment: Pill
    email: EmailState
    sendable: bool
    problems: tuple[ToMend, ...]
    actions: Actions
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
    """Return the panel of an invoice whose customer is loaded; six queries."""
    delivery = last_delivery(invoice)
    email = email_state(invoice, delivery, formats)
    payment = payment_state(invoice, formats)
    recipients = recipients_of(invoice)
    to, cc = ", ".join(recipients.to), ", ".join(recipients.cc)
    retry = retry_of(invoice, delivery)
    actions = actions_of(invoice, delivery, retry, member=member)
    warned = _warned(invoice, delivery, actions, formats)
    problems = to_mend(invoice, said=email.detail, warned=warned)
    steps = _steps(invoice, delivery, formats)
    message = _message(delivery, formats) if delivery else None
    return EmailPanel(
        id=invoice.pk,
        number=invoice.number,
        customer_id=invoice.customer_id,
        to=to,
        cc=cc,
        shows_recipients=_shows_recipients(invoice, actions, retry),
        payment=payment,
        email=email,
        sendable=member.may_send and is_sendable(invoice, delivery),
        problems=problems,
        actions=actions,
        delivery_id=delivery.pk if delivery else None,
        correlation_id=delivery.correlation_id if delivery else "",
        provider_message_id=delivery.provider_message_id if delivery else "",
        steps=steps[-STEPS_SHOWN:],
        earlier_steps=len(steps) > STEPS_SHOWN,
        message=message,
        version=fingerprint(*(email, payment, problems, actions, to, cc, steps, message, notices)),
    )


def _shows_recipients(invoice: Invoice, actions: Actions, retry: Retry | None) -> bool:
    goes_as_it_was = retry is not None and not retry.takes_corrections
    return actions.send_again or (invoice.is_correctable and not goes_as_it_was)


def _warned(
    invoice: Invoice, delivery: Delivery | None, actions: Actions, formats: Formats
) -> tuple[Warned, ...]:
    """Return what is known against the recipients, where one more e-mail is a question at all."""
    if not (invoice.is_correctable or actions.send_again or actions.retry):
        return ()
    if delivery is not None and delivery.after_sending in Delivery.CAME_BACK:
        return ()  # The e-mail's state says it.
    return warnings_of(invoice, formats)


def _steps(invoice: Invoice, delivery: Delivery | None, formats: Formats) -> tuple[Step, ...]:
    """Return the last steps of the invoice and of its e-mails, oldest first; one more than shown.

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
    of_emails = [
        step_of(
            event,
            formats,
            known_correlation_id=known,
            kind="" if event.delivery.kind == KIND else event.delivery.kind,
        )
        for event in reversed(events)
    ]
    own = invoice.events.select_related("actor").order_by("-id")[: STEPS_SHOWN + 1]
    steps = [*of_emails, *(step_of_invoice(event, formats) for event in reversed(own))]
    return tuple(sorted(steps, key=lambda step: step.at)[-STEPS_SHOWN - 1 :])


def _message(delivery: Delivery, formats: Formats) -> StoredMessage | None:
    message = shown_messages().filter(delivery=delivery).last()
    return stored_message(message, delivery, formats) if message else None
