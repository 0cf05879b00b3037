"""What a lane remembers to tell a refused account from one message that alone is refused so.

Old code leaves the columns alone; nobody is a suspect then, and each such answer pauses the lane.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("deliveries", "0011_monitoring_indexes")]

    operations = [
        migrations.AddField(
            "lane",
            "accepted_at",
            models.DateTimeField(
                blank=True,
                null=True,
                help_text="When the provider last accepted something, to 5 seconds.",
            ),
        ),
        migrations.AddField(
            "lane",
            "suspect_id",
            models.BigIntegerField(
                blank=True,
                null=True,
                help_text=(
                    "The delivery whose answer last blamed the lane, if none was accepted since."
                ),
            ),
        ),
    ]
