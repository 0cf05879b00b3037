"""What providers report after sending: the events themselves, what they came to, addresses."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("deliveries", "0005_reported_rate"),
        ("invoices", "0003_search"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Mailbox",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("address", models.CharField(help_text="In lower case.", max_length=320)),
                ("arrived_at", models.DateTimeField(blank=True, null=True)),
                ("came_back_at", models.DateTimeField(blank=True, null=True)),
                (
                    "came_back_as",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("delayed", "Delayed"),
                            ("delivered", "Delivered"),
                            ("bounced_for_now", "Bounced for now"),
                            ("suppressed", "Suppressed"),
                            ("failed", "Not delivered"),
                            ("bounced", "Bounced"),
                            ("complained", "Complained"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("came_back_reason", models.TextField(blank=True, default="")),
            ],
            options={
                "verbose_name_plural": "mailboxes",
            },
        ),
        migrations.CreateModel(
            name="ProviderEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("event_id", models.CharField(max_length=255)),
                ("type", models.CharField(max_length=100)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("delayed", "Delayed"),
                            ("delivered", "Delivered"),
                            ("bounced_for_now", "Bounced for now"),
                            ("suppressed", "Suppressed"),
                            ("failed", "Not delivered"),
                            ("bounced", "Bounced"),
                            ("complained", "Complained"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("provider_message_id", models.CharField(blank=True, default="", max_length=255)),
                (
                    "happened_at",
                    models.DateTimeField(help_text="By the provider's clock, if it told."),
                ),
                ("reason", models.TextField(blank=True, default="")),
                ("address", models.CharField(blank=True, default="", max_length=320)),
                (
                    "received_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waits for its delivery"),
                            ("applied", "Applied"),
                            ("outranked", "A louder one had come"),
                            ("no_effect", "Of no effect"),
                            ("unknown_type", "Of a type we do not know"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                (
                    "payload",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="As it came, without subject, bodies and attachments.",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="delivery",
            name="after_sending",
            field=models.CharField(
                blank=True,
                choices=[
                    ("delayed", "Delayed"),
                    ("delivered", "Delivered"),
                    ("bounced_for_now", "Bounced for now"),
                    ("suppressed", "Suppressed"),
                    ("failed", "Not delivered"),
                    ("bounced", "Bounced"),
                    ("complained", "Complained"),
                ],
                db_default="",
                default="",
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="after_sending_at",
            field=models.DateTimeField(
                blank=True, help_text="When it happened, by the provider's clock.", null=True
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="after_sending_reason",
            field=models.TextField(blank=True, db_default="", default=""),
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
                    ("delayed", "Delayed"),
                    ("delivered", "Delivered"),
                    ("bounced_for_now", "Bounced for now"),
                    ("suppressed", "Suppressed"),
                    ("failed", "Not delivered"),
                    ("bounced", "Bounced"),
                    ("complained", "Complained"),
                ],
                max_length=30,
            ),
        ),
        AddConstraintNotValid(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "after_sending__in",
                        [
                            "",
                            "delayed",
                            "delivered",
                            "bounced_for_now",
                            "suppressed",
                            "failed",
                            "bounced",
                            "complained",
                        ],
                    )
                ),
                name="delivery_after_sending",
            ),
        ),
        AddConstraintNotValid(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("after_sending", ""), ("after_sending_at__isnull", True)),
                    models.Q(
                        ("after_sending_at__isnull", False),
                        ("status", "sent"),
                        models.Q(("after_sending", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="delivery_after_sending_only_when_sent",
            ),
        ),
        migrations.AddField(
            model_name="mailbox",
            name="organization",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="invoices.organization",
            ),
        ),
        migrations.AddField(
            model_name="providerevent",
            name="delivery",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="provider_events",
                to="deliveries.delivery",
            ),
        ),
        migrations.AddConstraint(
            model_name="mailbox",
            constraint=models.UniqueConstraint(
                models.F("organization"), models.F("address"), name="mailbox_address"
            ),
        ),
        migrations.AddConstraint(
            model_name="mailbox",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("came_back_as", ""), ("came_back_at__isnull", True)),
                    models.Q(
                        ("came_back_at__isnull", False),
                        models.Q(("came_back_as", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="mailbox_came_back_somehow",
            ),
        ),
        migrations.AddIndex(
            model_name="providerevent",
            index=models.Index(
                models.F("provider_message_id"),
                condition=models.Q(("state", "waiting")),
                name="provider_event_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="providerevent",
            index=models.Index(
                models.F("received_at"),
                condition=models.Q(("state", "waiting")),
                name="provider_event_lately",
            ),
        ),
        migrations.AddIndex(
            model_name="providerevent",
            index=models.Index(
                models.F("delivery"),
                models.F("id"),
                condition=models.Q(("delivery__isnull", False)),
                name="provider_event_by_delivery",
            ),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.UniqueConstraint(models.F("event_id"), name="provider_event_id"),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["waiting", "applied", "outranked", "no_effect", "unknown_type"])
                ),
                name="provider_event_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ["applied", "outranked"]), _negated=True),
                    ("delivery__isnull", False),
                    _connector="OR",
                ),
                name="provider_event_applied_to_a_delivery",
            ),
        ),
    ]
