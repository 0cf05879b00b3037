"""What the pages tell of one invoice's reminders: the last, the next, and each one's e-mail."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, OuterRef, Q, Subquery
from django.utils.translation import gettext as _

from deliveries.models import Delivery
from invoices import mailboxes, reminders
from invoices.models import Invoice, Member
from invoices.pages import refusals
from invoices.pages.afterwards import afterwards
from invoices.pages.formats import Formats, Moment
from invoices.pages.states import EmailState, Pill, reminder_state
from invoices.pages.timelines import (
    Step,
    StoredMessage,
    shown_messages,
    step_of,
    stored_message,
    told_events,
)
from invoices.reminders import Hindrance

REMINDERS_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class Reminder:
    """One reminder, with its steps and the e-mail as it was handed over."""

    id: int
    day: str
    state: EmailState
    steps: tuple[Step, ...]
    message: StoredMessage | None
    correlation_id: str
    provider_message_id: str


@dataclass(frozen=True, kw_only=True)
class RemindersCard:
    invoice_id: int
    customer_name: str
    # Newest first.
    reminders: tuple[Reminder, ...]
    earlier: int
    so_far: str
    next: Moment | None
    why_no_next: tuple[str, ...]
    invoice_paused: bool
    customer_paused: bool
    changeable: bool


def reminders_card(invoice: Invoice, *, member: Member, formats: Formats) -> RemindersCard | None:
    """Return the card of an invoice whose organization and customer are loaded; five queries.

    None for an invoice that has had no reminder and has none to expect.
    """
    of_invoice = Delivery.objects.about(invoice).filter(kind=reminders.KIND)
    latest = list(of_invoice[:REMINDERS_SHOWN])
    if not latest and invoice.status != Invoice.Status.SENT:
        return None
    counts = of_invoice.order_by().aggregate(
        recorded=Count("pk"),
        cancelled=Count("pk", filter=Q(status=Delivery.Status.CANCELLED)),
        sent=Count("pk", filter=Q(status=Delivery.Status.SENT)),
    )
    already = counts["recorded"] - counts["cancelled"]
    refusing = mailboxes.refusing([invoice]).get(invoice.pk, ())
    refused = mailboxes.all_refuse(invoice, refusing)
    upcoming = _next(invoice, latest, already, refused, formats)
    warned = tuple(each.sentence for each in refusals.of_refusals(refusing, formats))
    return RemindersCard(
        invoice_id=invoice.pk,
        customer_name=invoice.customer.name.strip() or invoice.customer.email.strip(),
        reminders=_with_emails(latest, formats),
        earlier=counts["recorded"] - len(latest),
        so_far=_so_far(invoice, already, counts["sent"]),
        next=formats.weekday_moment(upcoming) if upcoming else None,
        why_no_next=() if upcoming else _why_no_next(invoice, already, warned if refused else ()),
        invoice_paused=invoice.reminders_paused,
        customer_paused=invoice.customer.reminders_paused,
        changeable=member.may_send and invoice.status == Invoice.Status.SENT,
    )


def _next(
    invoice: Invoice, latest: Sequence[Delivery], already: int, refused: bool, formats: Formats
) -> datetime | None:
    last = max(map(reminders.day_of, latest), default=None)
    try:
        return reminders.next_reminder(
            invoice, now=formats.now, already=already, last=last, refused=refused
        )
    except (OverflowError, KeyError, ValueError):
        # Imported data: due in the year 9999, or in a time zone that nobody knows.
        return None


def _so_far(invoice: Invoice, already: int, sent: int) -> str:
    """Say "3 of at most 5, 2 of them sent": cancelled ones do not count, here or for the limit."""
    limit = invoice.organization.reminder_limit
    if limit is None:
        told = str(already) if already else _("None")
    else:
        told = _("%(already)s of at most %(limit)s") % {"already": already, "limit": limit}
    if already and sent < already:
        told += _(", %(sent)s of them sent") % {"sent": sent or _("none")}
    return told


def _why_no_next(invoice: Invoice, already: int, refused: tuple[str, ...]) -> tuple[str, ...]:
    """Say what stands in the way; `refused` of each recipient, if every one refuses e-mail."""
    sentences = {
        Hindrance.NOT_SENT: _("The invoice has not been sent."),
        Hindrance.NOT_SENT_FROM_HERE: _("It is not known when the invoice was sent."),
        Hindrance.PAID: _("The invoice is paid."),
        Hindrance.VOID: _("The invoice is void."),
        Hindrance.CUSTOMER_REMOVED: _("The customer was removed."),
        Hindrance.SWITCHED_OFF: _("Reminders are switched off."),
        Hindrance.LIMIT_REACHED: _("It has had as many reminders as the settings allow."),
        Hindrance.INVOICE_PAUSED: _("Paused for this invoice."),
        Hindrance.CUSTOMER_PAUSED: _("Paused for this customer."),
    }
    found = reminders.hindrances(invoice, already=already)
    if not found and not refused:
        return (_("The due date or the time zone is one that nobody can reckon with."),)
    return (*(sentences[hindrance] for hindrance in found), *refused)


def _with_emails(deliveries: Sequence[Delivery], formats: Formats) -> tuple[Reminder, ...]:
    """Two queries, whatever their number; only the last message of each is shown."""
    steps: dict[int, list[Step]] = {delivery.pk: [] for delivery in deliveries}
    known = {delivery.pk: delivery.correlation_id for delivery in deliveries}
    for event in told_events().filter(delivery__in=deliveries).order_by("delivery_id", "id"):
        step = step_of(event, formats, known_correlation_id=known[event.delivery_id])
        steps[event.delivery_id].append(step)
    messages = {
        message.delivery_id: message
        for message in shown_messages().filter(delivery__in=deliveries).order_by("id")
    }
    return tuple(
        Reminder(
            id=delivery.pk,
            day=formats.short_day(reminders.day_of(delivery)),
            state=reminder_state(delivery, formats),
            steps=tuple(steps[delivery.pk]),
            message=stored_message(messages[delivery.pk], delivery, formats)
            if delivery.pk in messages
            else None,
            correlation_id=delivery.correlation_id,
            provider_message_id=delivery.provider_message_id,
        )
        for delivery in deliveries
    )


@dataclass(frozen=True, kw_only=True)
class LastReminder(Pill):
    """The last reminder in a word, for a list: "Reminded", and when."""

    moment: Moment | None = None


def last_reminders(invoices: Iterable[Invoice], formats: Formats) -> dict[int, LastReminder]:
    """Return what is to be said of the overdue ones' last reminder; at most one query.

    A year of reminders is some 250 rows for each invoice: the last is read off the index
    delivery_by_invoice, without looking at the others.
    """
    overdue = [invoice.pk for invoice in invoices if _has_reminders(invoice, formats)]
    newest = (
        Delivery.objects.filter(invoice=OuterRef("pk"), kind=reminders.KIND)
        .exclude(status=Delivery.Status.CANCELLED)
        .order_by("-id")
        .values("pk")[:1]
    )
    of_each = Invoice.objects.filter(pk__in=overdue).values_list(Subquery(newest))
    return {
        delivery.invoice_id: _last(delivery, formats)
        for delivery in Delivery.objects.filter(pk__in=of_each)
    }


def _has_reminders(invoice: Invoice, formats: Formats) -> bool:
    return invoice.status == Invoice.Status.SENT and invoice.due_on < formats.today


def _last(delivery: Delivery, formats: Formats) -> LastReminder:
    if delivery.status == Delivery.Status.SENT and delivery.sent_at:
        return _last_sent(delivery, delivery.sent_at, formats)
    if delivery.status == Delivery.Status.DEAD:
        moment = formats.day_moment(delivery.finished_at) if delivery.finished_at else None
        if delivery.may_have_arrived:
            return LastReminder(
                label=_("Reminder: we do not know"), tone="wait", icon="question", moment=moment
            )
        return LastReminder(label=_("Reminder not sent"), tone="bad", icon="cross", moment=moment)
    return LastReminder(label=_("Reminder under way"), tone="busy", icon="clock")


def _last_sent(delivery: Delivery, sent_at: datetime, formats: Formats) -> LastReminder:
    """Say "Reminded" only as long as nothing else was reported of it."""
    if delivery.after_sending in {"", Delivery.AfterSending.DELIVERED}:
        return LastReminder(
            label=_("Reminded"),
            tone="quiet",
            icon="check",
            moment=formats.day_moment(sent_at),
        )
    told = afterwards(delivery)
    return LastReminder(
        label=_("Reminder: %(told)s") % {"told": told.label.lower()},
        tone=told.tone,
        icon=told.icon,
        moment=formats.day_moment(delivery.after_sending_at or sent_at),
    )
