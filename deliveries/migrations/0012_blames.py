"""What a lane remembers to tell a refused account from one message that alone is refused so.

Old code leaves the columns alone; nothing was accepted lately then, and each such answer pauses
the lane.
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
            "blames_in_a_row",
            models.PositiveIntegerField(
                default=0,
                db_default=0,
                help_text="Answers that blamed the account or the rate since the last acceptance.",
            ),
        ),
    ]
