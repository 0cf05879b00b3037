"""Lanes: the limits that the fleet shares, and whose turn it is."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


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
    accepted_at = models.DateTimeField(
        null=True, blank=True, help_text="When the provider last accepted something, to 5 seconds."
    )
    blames_in_a_row = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="Answers that blamed the account or the rate since the last acceptance.",
    )

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
