"""Whom invoices are for."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models.functions import Lower, Now

from invoices import validation
from invoices.models.organizations import Organization


class Customer(models.Model):
    """Whom an organization invoices. A removed customer is kept for the invoices' sake."""

    organization = models.ForeignKey(
        Organization, on_delete=models.PROTECT, related_name="customers"
    )
    name = models.CharField(max_length=240, blank=True, validators=[validation.one_line])
    # Not an EmailField: imports bring what people really have, and the page shows the problem.
    email = models.CharField(max_length=320, blank=True, validators=[validation.one_line])
    address = models.TextField(blank=True, default="", validators=[validation.plain_text])
    tax_id = models.CharField(max_length=60, blank=True, default="")
    language = models.CharField(
        max_length=20, blank=True, default="", validators=[validation.known_locale]
    )
    reminders_paused = models.BooleanField(default=False)
    removed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            # The customer list: one organization's customers by name, page by page.
            models.Index("organization", Lower("name"), "id", name="customer_list"),
            # Search and import: a customer by address, whatever the case.
            models.Index("organization", Lower("email"), name="customer_by_email"),
            # Support's search over all organizations: by the beginning of the address, and by
            # words of the name.
            models.Index(
                OpClass(Lower("email"), name="text_pattern_ops"), name="customer_by_email_start"
            ),
            GinIndex(SearchVector("name", config="simple"), name="customer_by_words_of_name"),
        ]

    def __str__(self) -> str:
        return self.name or self.email
