"""Since when a delivery waits: since it was requested, or last replayed.

A dead letter replayed after three days has waited for a moment, not for three days.
"""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("deliveries", "0007_provider_events_indexed")]

    operations = [
        # The default is evaluated once: no row is rewritten, and old code need not know the column.
        migrations.AddField(
            "delivery",
            "waiting_since",
            models.DateTimeField(
                db_default=Now(), help_text="When it was requested, or last replayed."
            ),
        ),
    ]
