"""What was handed over."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from deliveries.models.deliveries import Delivery


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
