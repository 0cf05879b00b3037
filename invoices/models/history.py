"""What people did to an invoice apart from its e-mails."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from invoices.models.invoices import Invoice


class InvoiceEvent(models.Model):
    """One step in an invoice's life that belongs to no delivery: written, changed, paid, voided.

    Append only. What concerns a delivery stands in the ledger's timeline; pages show both as one.
    """

    invoice = models.ForeignKey(
        Invoice, on_delete=models.CASCADE, db_index=False, related_name="events"
    )
    at = models.DateTimeField(db_default=Now())
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        related_name="+",
    )
    sentence = models.TextField()

    class Meta:
        ordering = ["id"]
        indexes = [
            # The invoice's page and support's trace: one invoice's steps in order.
            models.Index("invoice", "id", name="invoice_event_by_invoice"),
        ]

    def __str__(self) -> str:
        return self.sentence
