"""Many invoices sent by one click."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from deliveries.models import Delivery
from invoices.models.invoices import Invoice
from invoices.models.organizations import Organization


class Batch(models.Model):
    """One choice of invoices that a person sent together.

    The whole choice is recorded first, then worked off: what has neither a delivery nor a reason
    to be skipped is still to be done, whatever crashed meanwhile.
    """

    organization = models.ForeignKey(
        Organization, on_delete=models.PROTECT, db_index=False, related_name="batches"
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    once = models.UUIDField(help_text="Made with the form: every click on it is this batch.")
    chosen = models.CharField(max_length=200, help_text="What was chosen, in words.")
    size = models.PositiveIntegerField()
    queued = models.PositiveIntegerField(default=0, db_default=0)
    skipped = models.PositiveIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            # A double click is one batch. Of one organization: ids of others tell nothing.
            models.UniqueConstraint("organization", "once", name="batch_once"),
            models.CheckConstraint(
                name="batch_counts_within_size", condition=Q(size__gte=F("queued") + F("skipped"))
            ),
        ]
        indexes = [
            # The page of an organization's batches, newest first.
            models.Index("organization", F("id").desc(), name="batch_list"),
        ]

    def __str__(self) -> str:
        return f"Batch {self.pk}"

    @property
    def pending(self) -> int:
        """How many are chosen, but neither recorded nor skipped yet."""
        return self.size - self.queued - self.skipped


class BatchItem(models.Model):
    """One invoice of a batch: to be done, promised by its delivery, or skipped with a reason."""

    class Skipped(models.TextChoices):
        SENT = "sent", "Already sent"
        UNDER_WAY = "under_way", "Already on its way"
        PAID = "paid", "Paid"
        VOID = "void", "Void"
        NOT_SENT = "not_sent", "Not sent before"
        PROBLEM = "problem", "Something is missing or wrong"

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, db_index=False, related_name="items")
    # CASCADE: a draft that was skipped may be thrown away afterwards.
    invoice = models.ForeignKey(
        Invoice, on_delete=models.CASCADE, db_index=False, related_name="batch_items"
    )
    # No constraint: the ledger archives old deliveries, and a batch must not hold them back.
    delivery = models.ForeignKey(
        Delivery,
        on_delete=models.DO_NOTHING,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    skipped = models.CharField(max_length=20, choices=Skipped, default="", db_default="")
    reason = models.CharField(max_length=1000, default="", db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint("batch", "invoice", name="batch_item_once"),
            models.CheckConstraint(
                name="batch_item_skipped",
                condition=Q(
                    skipped__in=["", "sent", "under_way", "paid", "void", "not_sent", "problem"]
                ),
            ),
            models.CheckConstraint(
                name="batch_item_queued_or_skipped",
                condition=Q(delivery__isnull=True) | Q(skipped=""),
            ),
            models.CheckConstraint(
                name="batch_item_skipped_has_reason",
                condition=Q(skipped="", reason="") | (~Q(skipped="") & ~Q(reason="")),
            ),
        ]
        indexes = [
            # The banner "part of a running batch": an invoice's items; most have none.
            models.Index("invoice", name="batch_item_of_invoice"),
            # The reasons on a batch's page: its skipped invoices, without the thousands queued.
            models.Index(
                "batch",
                "skipped",
                "invoice",
                name="batch_item_why_skipped",
                condition=~Q(skipped=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.invoice_id} in {self.batch_id}"
