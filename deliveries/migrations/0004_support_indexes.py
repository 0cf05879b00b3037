"""What the admin looks for, indexed without locking the ledger out.

The last day's events for its start page, cancelled deliveries, and messages by the address they went to.
"""

from django.contrib.postgres.indexes import BrinIndex, GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import F


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("deliveries", "0003_support")]

    operations = [
        AddIndexConcurrently(
            "deliveryevent",
            BrinIndex(fields=["at"], name="event_by_time", pages_per_range=32, autosummarize=True),
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                F("id"), name="delivery_cancelled", condition=models.Q(status="cancelled")
            ),
        ),
        AddIndexConcurrently("message", GinIndex(fields=["to"], name="message_by_recipient")),
    ]
