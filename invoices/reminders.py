"""Weekday reminders of overdue invoices: who gets one, and when.

A run *records* deliveries of kind `reminder`; workers send them. The day of a run is its date in
UTC at 08:00; whether an invoice is overdue then is a matter of the calendar in its organization's
time zone. One reminder per invoice and day, however often a day's run is fired, late or at once.
"""

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from django.db.models.functions import Right

from deliveries import kinds, ledger
from deliveries.ledger import Wanted
from deliveries.models import Delivery, DeliveryQuerySet
from invoices import mailboxes
from invoices.calendar import local_day, next_run, run_of
from invoices.models import Customer, Invoice, Organization
from invoices.overdue import BATCH, Due, due_pages

logger = logging.getLogger(__name__)

KIND = "reminder"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run has come: invoices looked at that get one, and how many were new.

    `refused` get none, since every recipient's mailbox refuses e-mail.
    """

    found: int
    recorded: int
    refused: int = 0


def record(day: date, *, batch: int = BATCH) -> Generator[Progress, None, None]:
    """Record that day's reminders, a batch at a time, each in a transaction of its own.

    Stop it anywhere: what was recorded stays recorded, and the next run does the rest.
    """
    kind = kinds.get(KIND)
    found = recorded = refused = 0
    for page in due_pages(day, batch=batch):
        recorded += ledger.request_many(
            [
                Wanted(
                    organization_id=due.organization_id,
                    invoice_id=due.invoice_id,
                    dedupe_key=dedupe_key(due.invoice_id, day),
                    reference=due.number,
                )
                for due in page.due
            ],
            kind=kind,
        )
        found += len(page.due)
        refused += len(page.refused)
        yield Progress(found=found, recorded=recorded, refused=refused)


def dedupe_key(invoice_id: int, day: date) -> str:
    """Return the name of the intent "remind of this invoice on that day", taken for life."""
    return f"reminder:{invoice_id}:{day.isoformat()}"


def recorded_for(day: date, page: Sequence[Due]) -> set[int]:
    """Return which of these invoices have their reminder of that day already; one query."""
    keys = {dedupe_key(due.invoice_id, day): due.invoice_id for due in page}
    known = Delivery.objects.filter(dedupe_key__in=keys).values_list("dedupe_key", flat=True)
    return {keys[key] for key in known}


def day_of(delivery: Delivery) -> date:
    """Return the day that a reminder is for, which may be before the day it is sent."""
    return date.fromisoformat(delivery.dedupe_key.rsplit(":", 1)[1])


def of_day(organization: Organization, day: date) -> DeliveryQuerySet:
    """The reminders of that day, oldest debt first, whenever they were recorded.

    Found by the index delivery_reminders_of_a_day, which must have the same expression. Sorted by
    more than the id: for a first page PostgreSQL would read the whole ledger in the id's order.
    """
    return (
        Delivery.objects.annotate(day=Right("dedupe_key", 10))
        .filter(organization=organization, kind=KIND, day=day.isoformat())
        .order_by("created_at", "id")
    )


def days_overdue(invoice: Invoice, day: date) -> int:
    """Return how many days the invoice is overdue at that day's run, where it was issued."""
    return (local_day(run_of(day), invoice.organization.time_zone) - invoice.due_on).days


def days_overdue_today(invoice: Invoice, delivery: Delivery, now: datetime) -> int:
    """Return how many days it is overdue as the reminder says it: today, if it is caught up with.

    No fewer than on the day that the reminder is for, whatever the clock says.
    """
    today = local_day(now, invoice.organization.time_zone)
    return max(days_overdue(invoice, day_of(delivery)), (today - invoice.due_on).days)


def obsolete(delivery: Delivery, invoice: Invoice) -> str:
    """Return why a recorded reminder makes no sense any more, in a sentence; empty if it does."""
    if invoice.status == Invoice.Status.PAID:
        return f"Not sent: {invoice.number} was paid."
    if invoice.status != Invoice.Status.SENT:
        return f"Not sent: {invoice.number} is {invoice.get_status_display().lower()}."
    if why := _held_back(invoice):
        return why
    if _later_one_exists(delivery):
        return "Not sent: a later day's reminder took its place."
    if mailboxes.nobody_takes_it(invoice):
        return "Not sent: every address it would go to refuses e-mail."
    return ""


def _held_back(invoice: Invoice) -> str:
    if invoice.reminders_paused or invoice.customer.reminders_paused:
        return "Not sent: reminders were paused."
    if not invoice.organization.reminders_enabled:
        return "Not sent: reminders were switched off."
    return ""


def _later_one_exists(delivery: Delivery) -> bool:
    """After a long outage the reminders of several days wait: only the last is worth sending."""
    return (
        # One invoice's keys differ in the date alone, which sorts as it is written.
        Delivery.objects.filter(
            invoice_id=delivery.invoice_id, kind=KIND, dedupe_key__gt=delivery.dedupe_key
        )
        .exclude(status__in=[Delivery.Status.DEAD, Delivery.Status.CANCELLED])
        .exists()
    )


class Hindrance(StrEnum):
    """What keeps an invoice from getting another reminder, as things stand."""

    NOT_SENT = "not_sent"
    NOT_SENT_FROM_HERE = "not_sent_from_here"
    PAID = "paid"
    VOID = "void"
    CUSTOMER_REMOVED = "customer_removed"
    SWITCHED_OFF = "switched_off"
    LIMIT_REACHED = "limit_reached"
    INVOICE_PAUSED = "invoice_paused"
    CUSTOMER_PAUSED = "customer_paused"
    REFUSED = "refused"


def hindrances(invoice: Invoice, *, already: int, refused: bool = False) -> list[Hindrance]:
    """Return all that stands in the way of a next reminder; see `next_reminder`."""
    if invoice.status == Invoice.Status.PAID:
        return [Hindrance.PAID]
    if invoice.status == Invoice.Status.VOID:
        return [Hindrance.VOID]
    if invoice.status != Invoice.Status.SENT:
        return [Hindrance.NOT_SENT]
    limit = invoice.organization.reminder_limit
    holds = {
        Hindrance.NOT_SENT_FROM_HERE: invoice.sent_at is None,
        Hindrance.CUSTOMER_REMOVED: invoice.customer.removed_at is not None,
        Hindrance.SWITCHED_OFF: not invoice.organization.reminders_enabled,
        Hindrance.LIMIT_REACHED: limit is not None and already >= limit,
        Hindrance.INVOICE_PAUSED: invoice.reminders_paused,
        Hindrance.CUSTOMER_PAUSED: invoice.customer.reminders_paused,
        Hindrance.REFUSED: refused,
    }
    return [hindrance for hindrance, holds_now in holds.items() if holds_now]


def pause(subject: Invoice | Customer, *, user_id: int) -> None:
    """Record no more reminders of an invoice, or of all of a customer's; cancel what waits."""
    _set_paused(subject, True, user_id)


def resume(subject: Invoice | Customer, *, user_id: int) -> None:
    """Take a pause back: the next run reminds again."""
    _set_paused(subject, False, user_id)


def _set_paused(subject: Invoice | Customer, paused: bool, user_id: int) -> None:
    subject.reminders_paused = paused
    subject.save(update_fields=["reminders_paused"])
    of = "invoice" if isinstance(subject, Invoice) else "customer"
    logger.info(
        "reminders paused" if paused else "reminders resumed",
        extra={of: subject.pk, "user": user_id},
    )


def next_reminder(
    invoice: Invoice,
    *,
    now: datetime,
    already: int,
    last: date | None = None,
    refused: bool = False,
) -> datetime | None:
    """Return when the invoice would get its next reminder as things stand; None if never.

    `already` is how many it has been sent or is to be sent, `last` the last day that has one: the
    run may have been fired before its hour. `refused` says that every recipient's mailbox refuses
    e-mail (`mailboxes.all_refuse`). Needs organization and customer.
    """
    if invoice.sent_at is None or hindrances(invoice, already=already, refused=refused):
        return None
    organization = invoice.organization
    sent_on = local_day(invoice.sent_at, organization.time_zone)
    moment = max(next_run(now), next_run(run_of(last))) if last else next_run(now)
    first_day = invoice.due_on + timedelta(days=organization.reminders_after_days)
    # A zone is at most a day away from UTC: start looking no earlier than that.
    moment = max(moment, next_run(run_of(max(first_day, sent_on)) - timedelta(days=2)))
    while not first_day <= local_day(moment, organization.time_zone) > sent_on:
        moment = next_run(moment)
    return moment
