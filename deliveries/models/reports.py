"""What providers report after sending, and what that says of addresses."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from deliveries.models.deliveries import Delivery


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
            # Support's search: whose e-mail it is that only the provider's events name.
            models.Index(
                "provider_message_id",
                name="provider_event_by_message",
                condition=Q(delivery__isnull=False),
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

    @property
    def standing(self) -> str:
        """What came of it, for people."""
        named = self.provider_message_id or self.delivery_id is not None
        if self.outcome and not named:
            return "Names no e-mail"
        if self.state == self.State.OUTRANKED:
            return STANDINGS[self.State.OUTRANKED]
        return self.get_state_display()


# In place of the state's own words: an equal one changes nothing either.
STANDINGS = {ProviderEvent.State.OUTRANKED: "Tells nothing new"}


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
        # Told of the same moment: what came back weighs more.
        return self.arrived_at is None or self.arrived_at <= self.came_back_at
