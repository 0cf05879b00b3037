"""The invoice list's orders and tabs, indexed without locking the invoices out."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("invoices", "0003_search")]

    operations = [
        AddIndexConcurrently(
            "invoice",
            models.Index(F("organization"), F("due_on"), F("id"), name="invoice_list_by_due"),
        ),
        AddIndexConcurrently(
            "invoice",
            models.Index(
                F("organization"),
                F("currency"),
                Coalesce("amount_minor", 0),
                F("id"),
                name="invoice_list_by_amount",
            ),
        ),
        AddIndexConcurrently(
            "invoice",
            models.Index(
                F("organization"),
                F("status"),
                F("issued_on").desc(),
                F("id").desc(),
                F("due_on"),
                name="invoice_tab",
            ),
        ),
        AddIndexConcurrently(
            "invoice",
            models.Index(
                F("organization"), F("status"), F("due_on"), F("id"), name="invoice_tab_by_due"
            ),
        ),
        AddIndexConcurrently(
            "invoice",
            models.Index(
                F("organization"),
                F("status"),
                F("currency"),
                Coalesce("amount_minor", 0),
                F("id"),
                F("due_on"),
                name="invoice_tab_by_amount",
            ),
        ),
        AddIndexConcurrently(
            "invoice",
            models.Index(
                F("organization"),
                F("status"),
                F("number"),
                F("due_on"),
                name="invoice_tab_by_number",
            ),
        ),
    ]
