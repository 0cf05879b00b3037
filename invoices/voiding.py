"""Voiding: the invoice stays on record, and nobody is asked to pay it any more."""

import logging

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from deliveries import ledger
from deliveries.models import Delivery
from invoices import history
from invoices.models import Invoice, Organization

logger = logging.getLogger(__name__)

VOIDABLE = (
    *(Invoice.Status.DRAFT, Invoice.Status.SENDING),
    *(Invoice.Status.SENT, Invoice.Status.FAILED),
)
MOST_REASON = 300


class CannotBeVoided(Exception):
    """The invoice is paid; the text says so."""


def void(invoice_id: int, *, reason: str, organization: Organization, user_id: int) -> Invoice:
    """Void the invoice and cancel its e-mails that have not gone out; one transaction.

    One that a worker has in hand is cancelled by the worker, if it has not been handed over. Twice
    does no harm. Raise `Invoice.DoesNotExist`, `CannotBeVoided`.
    """
    reason = " ".join(reason.split())[:MOST_REASON]
    with transaction.atomic():
        invoice = Invoice.objects.get(pk=invoice_id, organization=organization)
        why = f"{invoice.number} was voided: {reason}"
        # Before the invoice: deliveries are locked first, everywhere.
        ledger.cancel_many(_unsent(invoice), actor_id=user_id, why=why)
        changed = Invoice.objects.filter(pk=invoice.pk, status__in=VOIDABLE).update(
            status=Invoice.Status.VOID, voided_at=timezone.now(), failure_reason=""
        )
        if not changed:
            _insist_on_void(invoice)
        else:
            history.tell(invoice, why, user_id=user_id)
    if changed:
        logger.info("invoice voided", extra={"invoice": invoice.pk, "user": user_id})
    invoice.refresh_from_db()
    return invoice


def _unsent(invoice: Invoice) -> list[int]:
    """Return what waits, and what is dead and certainly did not arrive.

    Of a dead one that may have arrived the page goes on saying so.
    """
    about = Delivery.objects.about(invoice)
    waiting = about.waiting().values_list("pk", flat=True)
    refused = about.dead().filter(handed_over_at__isnull=True).values_list("pk", flat=True)
    return [*waiting, *refused]


def _insist_on_void(invoice: Invoice) -> None:
    """Refuse, unless somebody else has voided it; rolls the cancelling back."""
    invoice.refresh_from_db(fields=["status"])
    if invoice.status != Invoice.Status.VOID:
        raise CannotBeVoided(
            _("%(number)s is paid: take the payment back before you void it.")
            % {"number": invoice.number}
        )
