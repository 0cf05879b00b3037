"""Deliveries: what was requested, where it stands, and what came back of it."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

# In words, since an index is declared before the class it belongs to is there.
_CAME_BACK = Q(
    after_sending__in=["bounced_for_now", "suppressed", "failed", "bounced", "complained"]
)

# Said instead of "Not sent" of what may have been sent.
NOBODY_KNOWS = "We do not know"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def about(self, invoice: models.Model) -> DeliveryQuerySet:
        """Deliveries of one invoice, newest first."""
        return self.filter(invoice_id=invoice.pk).order_by("-id")

    def dead(self) -> DeliveryQuerySet:
        return self.filter(status=Delivery.Status.DEAD)

    def waiting(self) -> DeliveryQuerySet:
        return self.filter(status__in=Delivery.WAITING)

    def came_back(self) -> DeliveryQuerySet:
        """Sent deliveries that bounced, were suppressed or complained of, newest first."""
        return self.filter(_CAME_BACK).order_by("-after_sending_at", "-id")

    def latest_of_each(self, invoices: list[Any], *, kind: str) -> DeliveryQuerySet:
        """The newest delivery of that kind for each of the invoices."""
        return (
            self.filter(invoice__in=invoices, kind=kind)
            .order_by("invoice_id", "-id")
            .distinct("invoice_id")
        )


class Delivery(models.Model):
    """One message that must reach one recipient once."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Sending"
        RETRYING = "retrying", "Retrying"
        SENT = "sent", "Sent"
        DEAD = "dead", "Not sent"
        CANCELLED = "cancelled", "Cancelled"

    class DeadReason(models.TextChoices):
        REJECTED = "rejected", "The provider refused it"
        NOT_SENDABLE = "not_sendable", "It cannot be sent as it is"
        GAVE_UP = "gave_up", "Every attempt failed"
        CRASHED = "crashed", "It crashed its workers"
        OUTCOME_UNKNOWN = "outcome_unknown", "We do not know whether it was sent"

    class AfterSending(models.TextChoices):
        """What the provider reported later, from the quietest to the loudest: it only moves up."""

        DELAYED = "delayed", "Delayed"
        DELIVERED = "delivered", "Delivered"
        BOUNCED_FOR_NOW = "bounced_for_now", "Bounced for now"
        SUPPRESSED = "suppressed", "Suppressed"
        FAILED = "failed", "Not delivered"
        BOUNCED = "bounced", "Bounced"
        COMPLAINED = "complained", "Complained"

    WAITING: ClassVar = (Status.QUEUED, Status.RETRYING)
    FINAL: ClassVar = (Status.SENT, Status.DEAD, Status.CANCELLED)
    # The customer does not have it, or does not want it.
    CAME_BACK: ClassVar = (
        AfterSending.BOUNCED_FOR_NOW,
        AfterSending.SUPPRESSED,
        AfterSending.FAILED,
        AfterSending.BOUNCED,
        AfterSending.COMPLAINED,
    )

    organization = models.ForeignKey(
        "invoices.Organization", on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    invoice = models.ForeignKey(
        "invoices.Invoice", on_delete=models.PROTECT, db_index=False, related_name="deliveries"
    )
    kind = models.CharField(max_length=50)
    lane = models.CharField(max_length=50)
    reference = models.CharField(
        max_length=100, help_text="What people call it (the invoice's number), for logs and search."
    )
    dedupe_key = models.CharField(max_length=200)
    idempotency_key = models.CharField(max_length=64)
    status = models.CharField(max_length=20, choices=Status, default=Status.QUEUED)
    claims = models.PositiveIntegerField(
        default=0, help_text="Leases taken since an outcome was last recorded: the crash budget."
    )
    attempts = models.PositiveIntegerField(
        default=0, help_text="Outcomes recorded: the error budget."
    )
    lease_token = models.BigIntegerField(
        default=0, help_text="Grows at every claim and is never reset: fences stale workers out."
    )
    locked_by = models.CharField(max_length=200, null=True, blank=True)
    locked_until = models.DateTimeField(null=True, blank=True)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    fair_tag = models.FloatField(help_text="Place in the lane's start-time fair queue.")
    handed_over_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Since when the provider may have accepted it under this idempotency key.",
    )
    correlation_id = models.CharField(max_length=64)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        related_name="+",
    )
    provider_message_id = models.CharField(max_length=255, blank=True, default="")
    last_error = models.TextField(blank=True, default="")
    dead_reason = models.CharField(max_length=30, choices=DeadReason, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now())
    waiting_since = models.DateTimeField(
        db_default=Now(), help_text="When it was requested, or last replayed."
    )
    sent_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    after_sending = models.CharField(
        max_length=20, choices=AfterSending, blank=True, default="", db_default=""
    )
    after_sending_at = models.DateTimeField(
        null=True, blank=True, help_text="When it happened, by the provider's clock."
    )
    after_sending_reason = models.TextField(blank=True, default="", db_default="")

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        permissions = [
            ("replay_delivery", "Can put dead deliveries back"),
            ("cancel_delivery", "Can cancel waiting and dead deliveries"),
        ]
        constraints = [
            # One intent, one row: whoever asks twice gets the first row.
            models.UniqueConstraint("dedupe_key", name="delivery_dedupe_key"),
            # The provider must never see one key for two deliveries.
            models.UniqueConstraint("idempotency_key", name="delivery_idempotency_key"),
            models.CheckConstraint(
                name="delivery_status",
                condition=Q(
                    status__in=["queued", "running", "retrying", "sent", "dead", "cancelled"]
                ),
            ),
            models.CheckConstraint(
                name="delivery_leased_exactly_when_running",
                condition=Q(status="running", locked_by__isnull=False, locked_until__isnull=False)
                | (~Q(status="running") & Q(locked_by__isnull=True, locked_until__isnull=True)),
            ),
            models.CheckConstraint(
                name="delivery_due_exactly_when_retrying",
                condition=Q(status="retrying", next_attempt_at__isnull=False)
                | (~Q(status="retrying") & Q(next_attempt_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="delivery_finished_exactly_when_final",
                condition=Q(status__in=["sent", "dead", "cancelled"], finished_at__isnull=False)
                | (~Q(status__in=["sent", "dead", "cancelled"]) & Q(finished_at__isnull=True)),
            ),
            # "Sent" means that the provider accepted it, under an id that we stored.
            models.CheckConstraint(
                name="delivery_sent_has_provider_id",
                condition=(~Q(status="sent") & Q(sent_at__isnull=True))
                | (Q(status="sent", sent_at__isnull=False) & ~Q(provider_message_id="")),
            ),
            models.CheckConstraint(
                name="delivery_dead_has_reason",
                condition=(~Q(status="dead") & Q(dead_reason=""))
                | (
                    Q(
                        status="dead",
                        dead_reason__in=[
                            "rejected",
                            "not_sendable",
                            "gave_up",
                            "crashed",
                            "outcome_unknown",
                        ],
                    )
                    & ~Q(last_error="")
                ),
            ),
            models.CheckConstraint(
                name="delivery_after_sending",
                condition=Q(
                    after_sending__in=[
                        "",
                        "delayed",
                        "delivered",
                        "bounced_for_now",
                        "suppressed",
                        "failed",
                        "bounced",
                        "complained",
                    ]
                ),
            ),
            # Nothing is reported of what was not sent, and whatever is has a time.
            models.CheckConstraint(
                name="delivery_after_sending_only_when_sent",
                condition=Q(after_sending="", after_sending_at__isnull=True)
                | (Q(status="sent", after_sending_at__isnull=False) & ~Q(after_sending="")),
            ),
        ]
        indexes = [
            # ledger.claim: the next ready rows of a lane, fairest first.
            models.Index(
                "lane", "fair_tag", "id", name="delivery_ready", condition=Q(status="queued")
            ),
            # ledger.wake_due: retries whose time has come.
            models.Index(
                "lane", "next_attempt_at", name="delivery_due", condition=Q(status="retrying")
            ),
            # ledger.claim: the fleet's running rows, and those whose lease ran out. The lease
            # itself is in no index, so that renewing it stays a heap-only update.
            models.Index("lane", "id", name="delivery_running", condition=Q(status="running")),
            # ledger.lag, and the pages' "12 invoices wait": the oldest that waits.
            models.Index(
                "lane",
                "waiting_since",
                name="delivery_waiting_since",
                condition=Q(status__in=["queued", "retrying"]),
            ),
            # Admin: dead letters, newest first.
            models.Index(F("finished_at").desc(), name="delivery_dead", condition=Q(status="dead")),
            # Metrics: how many are dead, by kind and reason, read from the index alone.
            models.Index(
                "kind", "dead_reason", name="delivery_dead_by_reason", condition=Q(status="dead")
            ),
            # Admin: those that were cancelled are few among many.
            models.Index("id", name="delivery_cancelled", condition=Q(status="cancelled")),
            # Invoice pages and search: what became of this invoice, and its last of a kind.
            models.Index("invoice", "kind", "id", name="delivery_by_invoice"),
            # Support's search: by request id, and by the provider's message id.
            models.Index("correlation_id", name="delivery_by_correlation_id"),
            models.Index(
                "provider_message_id",
                name="delivery_by_provider_id",
                condition=~Q(provider_message_id=""),
            ),
            # Finance's page and export of what came back, newest first.
            models.Index(
                "organization",
                F("after_sending_at").desc(),
                F("id").desc(),
                name="delivery_came_back",
                condition=_CAME_BACK,
            ),
            # Admin: deliveries of one sort of them, newest first.
            models.Index(
                "after_sending", F("id").desc(), name="delivery_by_report", condition=_CAME_BACK
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.reference} ({self.status})"

    @property
    def in_words(self) -> str:
        """What it has come to, in a word or two, honest about what nobody knows.

        What was reported after sending says more than that it was sent.
        """
        if self.after_sending:
            return str(self.get_after_sending_display())
        if self.status == self.Status.DEAD and self.may_have_arrived:
            return NOBODY_KNOWS
        return str(self.get_status_display())

    @property
    def may_have_arrived(self) -> bool:
        """Whether one that was given up or taken out may have reached the customer all the same.

        Whatever the dead reason: given up after a timeout, the provider may well have accepted it.
        """
        return (
            self.status in {self.Status.DEAD, self.Status.CANCELLED}
            and self.handed_over_at is not None
        ) or self.dead_reason == self.DeadReason.OUTCOME_UNKNOWN


class DeadLetter(Delivery):
    """A delivery that waits for a person: the same rows, as support's list of what to do."""

    class Meta:
        proxy = True
        default_permissions = ()


class UnfollowedDelivery(models.Model):
    """A final delivery that its invoice could not follow yet; it is tried again. Mostly none.

    Not a column of the delivery: a row updated twice in one transaction has its foreign keys
    checked at commit, which waits for whoever has locked the invoice.
    """

    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, primary_key=True, related_name="unfollowed"
    )
    since = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "unfollowed deliveries"

    def __str__(self) -> str:
        return f"{self.delivery} since {self.since}"
