"""The note "part of a running batch", on an invoice's page and in its row of the list."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from deliveries.models import Delivery
from invoices.models import BatchItem, Invoice

OPEN = (Delivery.Status.QUEUED, Delivery.Status.RUNNING, Delivery.Status.RETRYING)


@dataclass(frozen=True, kw_only=True)
class BatchNote:
    """The batch that an invoice's e-mail goes out with."""

    batch_id: int


def running_batch_of(invoices: Sequence[Invoice]) -> dict[int, BatchNote]:
    """Return the batch of each invoice whose e-mail is on its way in one; one query.

    An invoice whose e-mail has come to an end is no longer part of what runs.
    """
    going = Q(delivery__status__in=OPEN) | Q(delivery_id__isnull=True, skipped="")
    items = (
        BatchItem.objects.filter(going, invoice__in=invoices)
        .order_by("batch_id")
        .values_list("invoice_id", "batch_id")
    )
    return {invoice_id: BatchNote(batch_id=batch_id) for invoice_id, batch_id in items}
