"""Provider events found by their message id: a second e-mail has another id than its delivery."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("deliveries", "0012_blames")]

    operations = [
        AddIndexConcurrently(
            "providerevent",
            models.Index(
                "provider_message_id",
                name="provider_event_by_message",
                condition=Q(delivery__isnull=False),
            ),
        ),
    ]
