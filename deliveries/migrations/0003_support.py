"""What support and operations work with: dead letters as a list, the history of the lanes."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("deliveries", "0002_storage_of_a_queue"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="LaneEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "type",
                    models.CharField(
                        choices=[("paused", "Paused"), ("resumed", "Resumed")], max_length=30
                    ),
                ),
                ("until", models.DateTimeField(blank=True, null=True)),
                ("correlation_id", models.CharField(max_length=64)),
                ("reason", models.TextField()),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="DeadLetter",
            fields=[],
            options={
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("deliveries.delivery",),
        ),
        migrations.AlterModelOptions(
            name="lane",
            options={"permissions": [("steer_lane", "Can pause and resume lanes")]},
        ),
        migrations.AlterField(
            model_name="deliveryevent",
            name="type",
            field=models.CharField(
                choices=[
                    ("requested", "Requested"),
                    ("requested_again", "Requested again"),
                    ("attempt_failed", "Attempt failed"),
                    ("sent", "Sent"),
                    ("died", "Not sent"),
                    ("lease_lost", "Worker lost"),
                    ("released", "Put back"),
                    ("replayed", "Replayed"),
                    ("cancelled", "Cancelled"),
                    ("corrected", "Corrected"),
                    ("noted", "Noted"),
                ],
                max_length=30,
            ),
        ),
        migrations.AlterModelOptions(
            name="workerpresence",
            options={"verbose_name": "worker"},
        ),
        migrations.AddField(
            model_name="laneevent",
            name="actor",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="Empty where a worker did it, because of what the provider answered.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="laneevent",
            name="lane",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="events",
                to="deliveries.lane",
            ),
        ),
        migrations.AddIndex(
            model_name="laneevent",
            index=models.Index(models.F("lane"), models.F("id"), name="lane_event_by_lane"),
        ),
    ]
