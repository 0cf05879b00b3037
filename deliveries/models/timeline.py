"""A delivery's timeline."""

from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now

from deliveries.models.deliveries import NOBODY_KNOWS, Delivery


class DeliveryEvent(models.Model):
    """One step in a delivery's life: timeline and audit log in one, append only."""

    class Type(models.TextChoices):
        REQUESTED = "requested", "Requested"
        REQUESTED_AGAIN = "requested_again", "Requested again"
        ATTEMPT_FAILED = "attempt_failed", "Attempt failed"
        SENT = "sent", "Sent"
        DIED = "died", "Not sent"
        LEASE_LOST = "lease_lost", "Worker lost"
        RELEASED = "released", "Put back"
        REPLAYED = "replayed", "Replayed"
        CANCELLED = "cancelled", "Cancelled"
        CORRECTED = "corrected", "Corrected"
        NOTED = "noted", "Noted"
        # What the provider reported after sending.
        DELAYED = "delayed", "Delayed"
        DELIVERED = "delivered", "Delivered"
        BOUNCED_FOR_NOW = "bounced_for_now", "Bounced for now"
        SUPPRESSED = "suppressed", "Suppressed"
        FAILED = "failed", "Not delivered"
        BOUNCED = "bounced", "Bounced"
        COMPLAINED = "complained", "Complained"

    delivery = models.ForeignKey(
        Delivery, on_delete=models.PROTECT, db_index=False, related_name="events"
    )
    at = models.DateTimeField(db_default=Now())
    type = models.CharField(max_length=30, choices=Type)
    attempt = models.PositiveIntegerField(null=True, blank=True)
    worker = models.CharField(max_length=200, blank=True, default="")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        related_name="+",
    )
    correlation_id = models.CharField(max_length=64)
    sentence = models.TextField()
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            # Every timeline: one delivery's events in order.
            models.Index("delivery", "id", name="event_by_delivery"),
            # Support's search: by a later click's request id.
            models.Index("correlation_id", name="event_by_correlation_id"),
            # Admin's start page: what happened in the last day. Events are appended in order of
            # time, so a few kilobytes of block ranges do.
            BrinIndex(fields=["at"], name="event_by_time", pages_per_range=32, autosummarize=True),
        ]

    def __str__(self) -> str:
        return self.sentence

    def in_words(self, dead_reason: str, *, may_have_arrived: bool = False) -> str:
        """What the step is called; `dead_reason` is that of its details.

        `may_have_arrived` is the delivery's: giving up then says nothing of what was sent.
        """
        unknown = {Delivery.DeadReason.OUTCOME_UNKNOWN.value}
        if may_have_arrived:
            unknown |= {Delivery.DeadReason.GAVE_UP.value, Delivery.DeadReason.CRASHED.value}
        if self.type == self.Type.DIED and dead_reason in unknown:
            return NOBODY_KNOWS
        return str(self.get_type_display())
