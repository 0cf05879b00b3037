"""How an organization looks and sounds to its customers: its logo, its e-mails' texts."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from invoices import validation
from invoices.models.organizations import Organization


class Logo(models.Model):
    """An organization's logo as it was re-encoded; in the database, which all web hosts share."""

    class Type(models.TextChoices):
        PNG = "image/png", "PNG"
        JPEG = "image/jpeg", "JPEG"

    organization = models.OneToOneField(
        Organization, on_delete=models.CASCADE, primary_key=True, related_name="logo"
    )
    content = models.BinaryField()
    content_type = models.CharField(max_length=20, choices=Type)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    uploaded_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            # What browsers are told it is must be nothing that they run.
            models.CheckConstraint(
                name="logo_content_type",
                condition=Q(content_type__in=["image/png", "image/jpeg"]),
            ),
        ]

    def __str__(self) -> str:
        return f"Logo of {self.organization_id}"


class EmailText(models.Model):
    """An organization's own words for one kind of e-mail; an empty part means the default."""

    class Kind(models.TextChoices):
        INVOICE = "invoice", "Invoice"
        REMINDER = "reminder", "Reminder"

    organization = models.ForeignKey(
        Organization, on_delete=models.CASCADE, db_index=False, related_name="email_texts"
    )
    kind = models.CharField(max_length=20, choices=Kind)
    subject = models.CharField(
        max_length=240, blank=True, default="", validators=[validation.one_line]
    )
    text = models.TextField(
        blank=True, default="", validators=[validation.plain_text, MaxLengthValidator(5_000)]
    )

    class Meta:
        constraints = [
            # Composing an e-mail: the texts of its organization and kind.
            models.UniqueConstraint(
                "organization", "kind", name="email_text_once_per_organization"
            ),
            models.CheckConstraint(
                name="email_text_kind", condition=Q(kind__in=["invoice", "reminder"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.organization_id}"
