"""Files that were uploaded and checked, and wait for somebody to confirm their import."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from invoices.models.organizations import Organization

KEPT_FOR = timedelta(days=1)


class UploadQuerySet(models.QuerySet["Upload"]):
    def expired(self) -> UploadQuerySet:
        return self.filter(created_at__lt=Now() - KEPT_FOR)

    def alive(self) -> UploadQuerySet:
        return self.filter(created_at__gte=Now() - KEPT_FOR)


class Upload(models.Model):
    """A file's bytes between its check and its import, so that both are of the same file.

    In the database, since the web host that checked it need not be the one that imports it.
    """

    organization = models.ForeignKey(
        Organization, on_delete=models.CASCADE, db_index=False, related_name="uploads"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField(help_text="Emptied by the import.")
    dates = models.CharField(max_length=3, default="", db_default="")
    decimal = models.CharField(max_length=1, default="", db_default="")
    skip_existing = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(db_default=Now())
    imported_at = models.DateTimeField(null=True, blank=True)
    imported = models.PositiveIntegerField(
        null=True, blank=True, help_text="How many invoices it became."
    )

    objects = UploadQuerySet.as_manager()

    class Meta:
        indexes = [
            # Throwing away what nobody confirmed within a day.
            models.Index("created_at", name="upload_by_age"),
        ]

    def __str__(self) -> str:
        return self.name
