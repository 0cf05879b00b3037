"""A delivery's steps, one under the other, and the e-mail that it handed over."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.db.models.fields.json import KT
from django.utils.translation import gettext as _

from deliveries.models import Delivery, DeliveryEvent, Message
from invoices.models import InvoiceEvent
from invoices.pages.formats import Formats, Moment
from invoices.pages.states import Pill

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
    _Type.CORRECTED: ("plain", "dash"),
    _Type.NOTED: ("plain", "dash"),
    _Type.DELAYED: ("wait", "clock"),
    _Type.DELIVERED: ("good", "check"),
    _Type.BOUNCED_FOR_NOW: ("wait", "alert"),
    _Type.SUPPRESSED: ("bad", "slash"),
    _Type.FAILED: ("bad", "cross"),
    _Type.BOUNCED: ("bad", "cross"),
    _Type.COMPLAINED: ("bad", "alert"),
}


@dataclass(frozen=True, kw_only=True)
class Step(Pill):
    """One line of a timeline."""

    # When it was, to the microsecond: steps of an e-mail and of its invoice stand in one order.
    at: datetime
    moment: Moment
    sentence: str
    person: str
    worker: str
    attempt: int | None
    # Empty where it is the delivery's own.
    correlation_id: str
    # Empty for what the timeline is about; else the kind of delivery that the step belongs to.
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
    # The day on which its text and attachments were dropped; empty while they are there.
    dropped_on: str


def told_events() -> QuerySet[Any]:
    """Return events with what a step of a timeline needs of them."""
    return (
        DeliveryEvent.objects.select_related("actor")
        .defer("details")
        .annotate(dead_reason=KT("details__dead_reason"))
    )


def step_of(event: Any, formats: Formats, *, known_correlation_id: str, kind: str = "") -> Step:
    """Return the line that tells of an event; the request's id only where it is not known."""
    tone, icon = _STEP_LOOKS.get(event.type, ("plain", "ring"))
    if event.dead_reason == Delivery.DeadReason.OUTCOME_UNKNOWN:
        tone, icon = "wait", "question"
    # What the provider reports is nobody's request: its id is for support.
    reported = event.type in Delivery.AfterSending
    told_apart = {known_correlation_id, event.correlation_id if reported else ""}
    return Step(
        label=event.in_words(event.dead_reason or ""),
        tone=tone,
        icon=icon,
        at=event.at,
        moment=formats.exact(event.at),
        sentence=event.sentence,
        person=_name(event.actor),
        worker=event.worker,
        # A failed attempt's sentence begins with its number.
        attempt=None if event.type == _Type.ATTEMPT_FAILED else event.attempt,
        correlation_id="" if event.correlation_id in told_apart else event.correlation_id,
        kind=kind,
    )


def step_of_invoice(event: InvoiceEvent, formats: Formats) -> Step:
    """Return the line that tells what a person did to the invoice."""
    return Step(
        label=_("Invoice"),
        tone="plain",
        icon="dash",
        at=event.at,
        moment=formats.exact(event.at),
        sentence=event.sentence,
        person=_name(event.actor),
        worker="",
        attempt=None,
        correlation_id="",
        kind="",
    )


def _name(person: Any) -> str:
    return (person.get_full_name() or person.get_username()) if person else ""


def shown_messages() -> QuerySet[Message]:
    """Return messages with what a page shows of them."""
    return Message.objects.defer("html", "attachments")


def stored_message(message: Message, delivery: Delivery, formats: Formats) -> StoredMessage:
    dropped_at = message.content_dropped_at
    return StoredMessage(
        from_address=message.from_address,
        to=", ".join(message.to),
        cc=", ".join(message.cc),
        reply_to=message.reply_to,
        subject=message.subject,
        text=message.text,
        heading=_heading(delivery),
        dropped_on=formats.day_moment(dropped_at).text if dropped_at else "",
    )


def _heading(delivery: Delivery) -> str:
    if delivery.status == Delivery.Status.SENT:
        return _("The e-mail as it was sent")
    if delivery.status in Delivery.FINAL:
        return _("The e-mail as it was last handed over")
    return _("The e-mail as it is handed over")
