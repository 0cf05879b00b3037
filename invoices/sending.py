"""What the Send button does: one short transaction, whose promise a worker keeps."""

from django.db import transaction

from deliveries import kinds, ledger
from deliveries.models import Delivery
from invoices.models import Invoice, InvoiceQuerySet, Organization

KIND = "invoice"


class CannotBeSent(Exception):
    """The invoice is in a state in which sending makes no sense; the text says which."""


def send(invoice_id: int, *, organization: Organization, user_id: int) -> Delivery:
    """Promise the invoice's e-mail and return its delivery; the same one for every further click.

    One transaction: the invoice turns from draft to sending exactly if the ledger row commits.
    Raise `Invoice.DoesNotExist`, also for another organization's; `CannotBeSent`.
    """
    with transaction.atomic():
        invoice = _locked().get(pk=invoice_id, organization=organization)
        if invoice.status == Invoice.Status.DRAFT:
            invoice.status = Invoice.Status.SENDING
            invoice.save(update_fields=["status"])
        elif not Delivery.objects.filter(dedupe_key=dedupe_key(invoice)).exists():
            state = invoice.get_status_display().lower()
            raise CannotBeSent(f"{invoice.number} is {state}: there is nothing to send.")
        return ledger.request(
            invoice,
            kind=kinds.get(KIND),
            dedupe_key=dedupe_key(invoice),
            reference=invoice.number,
            requested_by=user_id,
        ).delivery


def _locked() -> InvoiceQuerySet:
    # NO KEY: a run of reminders checks foreign keys on the same rows, and need not wait for us.
    return Invoice.objects.select_for_update(no_key=True)


def dedupe_key(invoice: Invoice) -> str:
    """Return the name of the intent "send this invoice", taken for life."""
    return f"invoice:{invoice.pk}"
