"""The last day's events for the admin's start page, indexed without locking the ledger out."""

from django.contrib.postgres.indexes import BrinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("deliveries", "0003_support")]

    operations = [
        AddIndexConcurrently(
            "deliveryevent",
            BrinIndex(fields=["at"], name="event_by_time", pages_per_range=32, autosummarize=True),
        ),
    ]
