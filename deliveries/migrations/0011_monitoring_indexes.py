"""What a scrape asks, filled in and indexed without locking the ledger out.

Since when it is that the oldest waits, and how many are dead.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("deliveries", "0010_messages_with_content")]

    operations = [
        # Not beside the new column, whose lock nobody should wait for. Only what is not settled
        # yet, by its partial indexes: nobody asks it of the others.
        migrations.RunSQL(
            [
                "UPDATE deliveries_delivery SET waiting_since = created_at WHERE status = 'queued'",
                "UPDATE deliveries_delivery SET waiting_since = created_at WHERE status = 'retrying'",
                "UPDATE deliveries_delivery SET waiting_since = created_at WHERE status = 'running'",
            ],
            migrations.RunSQL.noop,
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                "lane",
                "waiting_since",
                name="delivery_waiting_since",
                condition=Q(status__in=["queued", "retrying"]),
            ),
        ),
        RemoveIndexConcurrently("delivery", "delivery_waiting"),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                "kind", "dead_reason", name="delivery_dead_by_reason", condition=Q(status="dead")
            ),
        ),
    ]
