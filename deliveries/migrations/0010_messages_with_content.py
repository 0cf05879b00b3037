"""What of the messages still has its content, found without reading those that have not."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("deliveries", "0009_archive")]

    operations = [
        AddIndexConcurrently(
            "message",
            models.Index(
                "id",
                name="message_with_content",
                condition=models.Q(content_dropped_at__isnull=True),
            ),
        ),
    ]
