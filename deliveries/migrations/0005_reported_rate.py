"""What a provider says that it takes per second, beside what is configured."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("deliveries", "0004_support_indexes")]

    operations = [
        migrations.AddField(
            "lane",
            "reported_rate",
            models.FloatField(
                blank=True,
                help_text="Messages per second that the provider last said it takes.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            "lane",
            models.CheckConstraint(
                condition=models.Q(
                    ("reported_rate__isnull", True), ("reported_rate__gt", 0), _connector="OR"
                ),
                name="lane_reported_rate_positive",
            ),
        ),
    ]
