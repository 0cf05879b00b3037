"""What the Send button does: one short transaction, whose promise a worker keeps."""

from django.db import transaction

from deliveries import kinds, ledger
from deliveries.models import Delivery
from invoices.models import Invoice, InvoiceQuerySet, Organization

KIND = "invoice"
OPEN = frozenset({*Delivery.WAITING, Delivery.Status.RUNNING})


class CannotBeSent(Exception):
    """The invoice is in a state in which sending makes no sense; the text says which."""


def send(invoice_id: int, *, organization: Organization, user_id: int) -> Delivery:
    """Promise the invoice's e-mail and return its delivery; the same one for every further click.

    One transaction: the invoice turns from draft to sending exactly if the ledger row commits.
    Raise `Invoice.DoesNotExist`, also for another organization's; `CannotBeSent`.
    """
    with transaction.atomic():
        invoice = _locked().get(pk=invoice_id, organization=organization)
        last = last_delivery(invoice)
        if is_sendable(invoice, last):
            key = _next_key(invoice, last)
            invoice.status = Invoice.Status.SENDING
            invoice.failure_reason = ""
            invoice.save(update_fields=["status", "failure_reason"])
        elif last is not None:
            key = last.dedupe_key
        else:
            state = invoice.get_status_display().lower()
            raise CannotBeSent(f"{invoice.number} is {state}: there is nothing to send.")
        return ledger.request(
            invoice,
            kind=kinds.get(KIND),
            dedupe_key=key,
            reference=invoice.number,
            requested_by=user_id,
        ).delivery


def last_delivery(invoice: Invoice) -> Delivery | None:
    """Return the newest delivery of the invoice's own e-mail."""
    return Delivery.objects.about(invoice).filter(kind=KIND).first()


def lock_last_delivery(invoice_id: int, organization: Organization) -> Delivery | None:
    """Return the newest delivery of the invoice's own e-mail, locked; joins the caller's.

    Before the invoice: deliveries are locked first, everywhere.
    """
    newest = (
        Delivery.objects.select_for_update(no_key=True)
        .filter(invoice_id=invoice_id, organization=organization, kind=KIND)
        .order_by("-id")
    )
    # One that was archived while we waited for it is gone from that statement's sight, which then
    # returns an older one or none; the next statement sees it.
    newest.first()
    return newest.all().first()


def holds_fast(last: Delivery | None) -> bool:
    """Tell whether the last e-mail keeps its invoice as it is: under way, or perhaps arrived.

    What a customer may have in hand must not read otherwise on our pages.
    """
    return last is not None and (last.status in OPEN or last.may_have_arrived)


def _locked() -> InvoiceQuerySet:
    # NO KEY: a run of reminders checks foreign keys on the same rows, and need not wait for us.
    return Invoice.objects.select_for_update(no_key=True)


def is_sendable(invoice: Invoice, last: Delivery | None) -> bool:
    """Whether a click makes a promise: for a draft, or where the last one was cancelled.

    `last` is the invoice's last delivery of this kind. A dead one is replayed instead. One that
    was cancelled though the customer may have it is not sent again by a mere click.
    """
    if last is None:
        return invoice.status == Invoice.Status.DRAFT
    return (
        invoice.status in {Invoice.Status.DRAFT, Invoice.Status.FAILED}
        and last.status == Delivery.Status.CANCELLED
        and not last.may_have_arrived
    )


def key_of(invoice_id: int, *, earlier: int) -> str:
    """Return the name of the intent "send this invoice", the first time or once more.

    `earlier` counts the invoice's deliveries of this kind so far.
    """
    return f"invoice:{invoice_id}:again:{earlier}" if earlier else f"invoice:{invoice_id}"


def times_requested(invoice: Invoice) -> int:
    """Return how many deliveries of its own e-mail the invoice has had: what numbers the next."""
    return Delivery.objects.filter(invoice=invoice, kind=KIND).count()


def _next_key(invoice: Invoice, last: Delivery | None) -> str:
    return key_of(invoice.pk, earlier=times_requested(invoice) if last else 0)
