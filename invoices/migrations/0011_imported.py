"""Invoices remember the import that made them; indexed without locking the invoices out."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("invoices", "0010_history")]

    operations = [
        migrations.AddField(
            "invoice",
            "imported_at",
            models.DateTimeField(
                null=True,
                blank=True,
                editable=False,
                help_text="When the import that made it began; one moment for all of a file.",
            ),
        ),
        AddIndexConcurrently(
            "invoice",
            models.Index(
                "organization",
                "imported_at",
                name="invoice_imported",
                condition=Q(imported_at__isnull=False),
            ),
        ),
    ]
