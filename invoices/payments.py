"""Marking invoices as paid, and taking that back."""

import logging
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Case, Q, Value, When
from django.utils import timezone
from django.utils.translation import gettext as _

from deliveries.models import Delivery
from invoices import history, sending
from invoices.calendar import local_day, written
from invoices.models import Invoice, Organization
from invoices.validation import is_known_zone

logger = logging.getLogger(__name__)

# Nobody knows whether a failed one arrived: who pays it has it.
PAYABLE = (Invoice.Status.SENT, Invoice.Status.FAILED)


class WrongState(Exception):
    """The invoice is in a state in which this makes no sense; the text says which."""


class ImpossibleDay(Exception):
    """Nobody pays on that day."""


def mark_paid(invoice_id: int, *, day: date, organization: Organization, user_id: int) -> Invoice:
    """Record that the invoice was paid on that day; one transaction. Twice does no harm.

    Reminders that wait find it paid and are cancelled. Raise `Invoice.DoesNotExist`,
    `ImpossibleDay`, `WrongState`.
    """
    with transaction.atomic():
        invoice = _of(organization, invoice_id)
        _check(day, invoice, organization)
        changed = Invoice.objects.filter(pk=invoice.pk, status__in=PAYABLE).update(
            status=Invoice.Status.PAID, paid_at=_moment(day, organization)
        )
        if changed:
            sentence = f"{invoice.number} was marked as paid on {written(day)}."
            history.tell(invoice, sentence, user_id=user_id)
            logger.info("invoice paid", extra={"invoice": invoice.pk, "user": user_id})
        else:
            _insist_on(invoice, Invoice.Status.PAID)
            _insist_on_the_day(invoice, day, organization)
    invoice.refresh_from_db()
    return invoice


def mark_unpaid(invoice_id: int, *, organization: Organization, user_id: int) -> Invoice:
    """Take it back: the invoice is open again as it was. Twice does no harm.

    Raise `Invoice.DoesNotExist`, `WrongState`.
    """
    with transaction.atomic():
        last = sending.lock_last_delivery(invoice_id, organization)
        invoice = _of(organization, invoice_id)
        changed = Invoice.objects.filter(pk=invoice.pk, status=Invoice.Status.PAID).update(
            status=_before_payment(last), paid_at=None
        )
        if changed:
            history.tell(invoice, f"{invoice.number} was marked as not paid.", user_id=user_id)
            logger.info("invoice not paid", extra={"invoice": invoice.pk, "user": user_id})
        else:
            _insist_on(invoice, *PAYABLE)
    invoice.refresh_from_db()
    return invoice


def _before_payment(last: Delivery | None) -> Case | Value:
    """Return the status that an unpaid invoice goes back to."""
    if last is not None and last.status in sending.OPEN:
        return Value(Invoice.Status.SENDING)
    # What had failed before it was paid keeps its reason meanwhile.
    has_left = Q(failure_reason="") | Q(sent_at__isnull=False)
    return Case(
        When(has_left, then=Value(Invoice.Status.SENT)), default=Value(Invoice.Status.FAILED)
    )


def _of(organization: Organization, invoice_id: int) -> Invoice:
    return Invoice.objects.get(pk=invoice_id, organization=organization)


def _check(day: date, invoice: Invoice, organization: Organization) -> None:
    if day > local_day(timezone.now(), organization.time_zone):
        raise ImpossibleDay(_("The day of payment is in the future."))
    if day.year < 2000:
        raise ImpossibleDay(_("The day of payment is too long ago: check the year."))


def _insist_on_the_day(invoice: Invoice, day: date, organization: Organization) -> None:
    """Refuse another day than the one on record: a double click says the same."""
    invoice.refresh_from_db(fields=["paid_at"])
    if invoice.paid_at is None:
        return
    recorded = local_day(invoice.paid_at, organization.time_zone)
    if recorded != day:
        raise WrongState(
            _("%(number)s is marked as paid on %(day)s already: take that back first.")
            % {"number": invoice.number, "day": written(recorded)}
        )


def _insist_on(invoice: Invoice, *statuses: str) -> None:
    """Refuse, unless somebody else has done it already."""
    invoice.refresh_from_db(fields=["status"])
    if invoice.status not in statuses:
        state = invoice.get_status_display().lower()
        raise WrongState(
            _("%(number)s is %(state)s: nothing was changed.")
            % {"number": invoice.number, "state": state}
        )


def _moment(day: date, organization: Organization) -> datetime:
    """Noon of that day where the organization is: the same day in every zone that reads it."""
    name = organization.time_zone if is_known_zone(organization.time_zone) else "UTC"
    return datetime.combine(day, time(12), ZoneInfo(name))
