"""The ledger's tables. Only `deliveries.ledger` writes them; everything else reads.

Deliveries that are long over, and their timelines, are moved to `deliveries_archiveddelivery` and
`deliveries_archivedevent` (`ledger.archive`). These are PostgreSQL children of the tables of
`Delivery` and `DeliveryEvent`, so these models read both: an archived delivery is a delivery. SQL
that is only about live rows says ONLY. A foreign key constraint cannot point at both.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

# A worker not seen for so long is taken for gone.
ALIVE_WITHIN = timedelta(seconds=30)


# In words, since an index is declared before the class it belongs to is there.
_CAME_BACK = Q(
    after_sending__in=["bounced_for_now", "suppressed", "failed", "bounced", "complained"]
)


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


class ProviderEvent(models.Model):
    """One event that a provider has sent us: kept whatever it says, applied at most once."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waits for its delivery"
        APPLIED = "applied", "Applied"
        OUTRANKED = "outranked", "A louder one had come"
        NO_EFFECT = "no_effect", "Of no effect"
        UNKNOWN_TYPE = "unknown_type", "Of a type we do not know"

    event_id = models.CharField(max_length=255)
    type = models.CharField(max_length=100)
    outcome = models.CharField(max_length=20, choices=Delivery.AfterSending, blank=True, default="")
    provider_message_id = models.CharField(max_length=255, blank=True, default="")
    happened_at = models.DateTimeField(help_text="By the provider's clock, if it told.")
    reason = models.TextField(blank=True, default="")
    address = models.CharField(max_length=320, blank=True, default="")
    received_at = models.DateTimeField(db_default=Now())
    delivery = models.ForeignKey(
        Delivery,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        # It may be archived, where no constraint of the live table reaches.
        db_constraint=False,
        related_name="provider_events",
    )
    state = models.CharField(max_length=20, choices=State, default=State.WAITING)
    payload = models.JSONField(
        default=dict, blank=True, help_text="As it came, without subject, bodies and attachments."
    )

    class Meta:
        constraints = [
            # The same event is repeated for a day: only the first is taken.
            models.UniqueConstraint("event_id", name="provider_event_id"),
            models.CheckConstraint(
                name="provider_event_state",
                condition=Q(
                    state__in=["waiting", "applied", "outranked", "no_effect", "unknown_type"]
                ),
            ),
            models.CheckConstraint(
                name="provider_event_applied_to_a_delivery",
                condition=~Q(state__in=["applied", "outranked"]) | Q(delivery__isnull=False),
            ),
        ]
        indexes = [
            # Settling: what came before we knew the message's id.
            models.Index(
                "provider_message_id",
                name="provider_event_waiting",
                condition=Q(state="waiting"),
            ),
            # ledger.follow_up_reports: what came lately and still waits.
            models.Index("received_at", name="provider_event_lately", condition=Q(state="waiting")),
            # Admin: what the provider told of this delivery.
            models.Index(
                "delivery",
                "id",
                name="provider_event_by_delivery",
                condition=Q(delivery__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"


class Mailbox(models.Model):
    """What is known of one address of an organization's customers: when e-mail last got there,
    and when it last came back for good."""

    organization = models.ForeignKey(
        "invoices.Organization", on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    address = models.CharField(max_length=320, help_text="In lower case.")
    arrived_at = models.DateTimeField(null=True, blank=True)
    came_back_at = models.DateTimeField(null=True, blank=True)
    came_back_as = models.CharField(
        max_length=20, choices=Delivery.AfterSending, blank=True, default=""
    )
    came_back_reason = models.TextField(blank=True, default="")

    class Meta:
        verbose_name_plural = "mailboxes"
        constraints = [
            # Pages look addresses up by it; reports are gathered under it.
            models.UniqueConstraint("organization", "address", name="mailbox_address"),
            models.CheckConstraint(
                name="mailbox_came_back_somehow",
                condition=Q(came_back_at__isnull=True, came_back_as="")
                | (Q(came_back_at__isnull=False) & ~Q(came_back_as="")),
            ),
        ]

    def __str__(self) -> str:
        return self.address

    @property
    def refuses(self) -> bool:
        """Whether the last that is known of it is that e-mail came back."""
        if self.came_back_at is None:
            return False
        return self.arrived_at is None or self.arrived_at < self.came_back_at


class Message(models.Model):
    """The message exactly as handed over under one idempotency key; never changed once stored.

    After `MESSAGE_RETENTION_DAYS` its text, HTML and attachments are dropped, and nothing else.
    """

    delivery = models.ForeignKey(
        Delivery,
        on_delete=models.PROTECT,
        db_index=False,
        # It may be archived, where no constraint of the live table reaches.
        db_constraint=False,
        related_name="messages",
    )
    idempotency_key = models.CharField(max_length=64)
    from_address = models.TextField()
    to = ArrayField(models.TextField())
    cc = ArrayField(models.TextField(), default=list, blank=True)
    reply_to = models.TextField(blank=True, default="")
    subject = models.TextField()
    text = models.TextField()
    html = models.TextField()
    headers = models.JSONField(default=dict, blank=True)
    attachments = models.JSONField(
        default=list,
        blank=True,
        help_text='List of {"filename", "content_type", "content"}, content in base64.',
    )
    created_at = models.DateTimeField(db_default=Now())
    content_dropped_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Since when its text, HTML and attachments are gone: see the retention.",
    )

    class Meta:
        constraints = [
            # One key, one content: a resend finds exactly what was stored first.
            models.UniqueConstraint("idempotency_key", name="message_idempotency_key"),
            models.CheckConstraint(name="message_has_recipient", condition=~Q(to=[])),
        ]
        indexes = [
            # Support opens what the customer got: a delivery's messages, one per key.
            models.Index("delivery", "id", name="message_by_delivery"),
            # Support's search: by the address it went to, which may have been corrected since.
            GinIndex(fields=["to"], name="message_by_recipient"),
            # ledger.drop_contents: those whose content is still there, oldest first.
            models.Index(
                "id", name="message_with_content", condition=Q(content_dropped_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} → {', '.join(self.to)}"


class Lane(models.Model):
    """A stream of deliveries with its own limits: one per provider account."""

    name = models.CharField(max_length=50, primary_key=True)
    limit = models.PositiveIntegerField(
        default=5, help_text="How many may be handed over at once, over the whole fleet."
    )
    rate_per_second = models.FloatField(null=True, blank=True)
    reported_rate = models.FloatField(
        null=True,
        blank=True,
        help_text="Messages per second that the provider last said it takes.",
    )
    rate_allowance = models.FloatField(default=0)
    rate_counted_at = models.DateTimeField(null=True, blank=True)
    paused_until = models.DateTimeField(null=True, blank=True)
    paused_reason = models.TextField(blank=True, default="")
    virtual_time = models.FloatField(
        default=0, help_text="The fair tag last served: where newcomers join the queue."
    )
    failures_in_a_row = models.PositiveIntegerField(default=0)
    next_probe_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        permissions = [("steer_lane", "Can pause and resume lanes")]
        constraints = [
            models.CheckConstraint(name="lane_limit_positive", condition=Q(limit__gt=0)),
            models.CheckConstraint(
                name="lane_rate_positive",
                condition=Q(rate_per_second__isnull=True) | Q(rate_per_second__gt=0),
            ),
            # Claims: a rate of 0 would hold the lane up for ever, without a reason on any page.
            models.CheckConstraint(
                name="lane_reported_rate_positive",
                condition=Q(reported_rate__isnull=True) | Q(reported_rate__gt=0),
            ),
            models.CheckConstraint(
                name="lane_pause_has_reason",
                condition=Q(paused_until__isnull=True, paused_reason="")
                | (Q(paused_until__isnull=False) & ~Q(paused_reason="")),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LaneEvent(models.Model):
    """A lane was paused or resumed: by whom, until when and why. Append only."""

    class Type(models.TextChoices):
        PAUSED = "paused", "Paused"
        RESUMED = "resumed", "Resumed"

    lane = models.ForeignKey(Lane, on_delete=models.PROTECT, db_index=False, related_name="events")
    at = models.DateTimeField(db_default=Now())
    type = models.CharField(max_length=30, choices=Type)
    until = models.DateTimeField(null=True, blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        related_name="+",
        help_text="Empty where a worker did it, because of what the provider answered.",
    )
    correlation_id = models.CharField(max_length=64)
    reason = models.TextField()

    class Meta:
        ordering = ["id"]
        indexes = [
            # Admin: a lane's history, newest first; and what a further pause would repeat.
            models.Index("lane", "id", name="lane_event_by_lane"),
        ]

    def __str__(self) -> str:
        return self.reason


class Flow(models.Model):
    """One organization's deliveries of one kind in a lane: what fairness is fair between."""

    lane = models.CharField(max_length=50)
    organization = models.ForeignKey(
        "invoices.Organization", on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    kind = models.CharField(max_length=50)
    last_tag = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint("lane", "organization", "kind", name="flow_key"),
        ]

    def __str__(self) -> str:
        return f"{self.lane}/{self.organization_id}/{self.kind}"


class WorkerPresenceQuerySet(models.QuerySet["WorkerPresence"]):
    def alive(self) -> WorkerPresenceQuerySet:
        """Workers seen lately, by the database's clock. They report every few seconds."""
        return self.filter(last_seen_at__gt=Now() - ALIVE_WITHIN)


class WorkerPresence(models.Model):
    """One row per running worker, so that pages can say when none is."""

    name = models.CharField(max_length=200, primary_key=True)
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    version = models.CharField(max_length=50)
    threads = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(db_default=Now())
    last_seen_at = models.DateTimeField(db_default=Now())

    objects = WorkerPresenceQuerySet.as_manager()

    class Meta:
        verbose_name = "worker"

    def __str__(self) -> str:
        return self.name
