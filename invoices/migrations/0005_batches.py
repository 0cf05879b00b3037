"""Many invoices sent by one click: new tables only, which old code does not know."""

import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("deliveries", "0004_support_indexes"),
        ("invoices", "0004_list"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Batch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "once",
                    models.UUIDField(
                        help_text="Made with the form: every click on it is this batch."
                    ),
                ),
                (
                    "chosen",
                    models.CharField(help_text="What was chosen, in words.", max_length=200),
                ),
                ("size", models.PositiveIntegerField()),
                ("queued", models.PositiveIntegerField(db_default=0, default=0)),
                ("skipped", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="batches",
                        to="invoices.organization",
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "batches",
            },
        ),
        migrations.CreateModel(
            name="BatchItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "skipped",
                    models.CharField(
                        choices=[
                            ("sent", "Already sent"),
                            ("under_way", "Already on its way"),
                            ("paid", "Paid"),
                            ("void", "Void"),
                            ("not_sent", "Not sent before"),
                            ("problem", "Something is missing or wrong"),
                        ],
                        db_default="",
                        default="",
                        max_length=20,
                    ),
                ),
                ("reason", models.CharField(db_default="", default="", max_length=1000)),
                (
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="invoices.batch",
                    ),
                ),
                (
                    "delivery",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="deliveries.delivery",
                    ),
                ),
                (
                    "invoice",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="batch_items",
                        to="invoices.invoice",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="batch",
            index=models.Index(
                models.F("organization"),
                models.OrderBy(models.F("id"), descending=True),
                name="batch_list",
            ),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.UniqueConstraint(
                models.F("organization"), models.F("once"), name="batch_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "size__gte",
                        django.db.models.expressions.CombinedExpression(
                            models.F("queued"), "+", models.F("skipped")
                        ),
                    )
                ),
                name="batch_counts_within_size",
            ),
        ),
        migrations.AddIndex(
            model_name="batchitem",
            index=models.Index(models.F("invoice"), name="batch_item_of_invoice"),
        ),
        migrations.AddIndex(
            model_name="batchitem",
            index=models.Index(
                models.F("batch"),
                models.F("skipped"),
                models.F("invoice"),
                condition=models.Q(("skipped", ""), _negated=True),
                name="batch_item_why_skipped",
            ),
        ),
        migrations.AddConstraint(
            model_name="batchitem",
            constraint=models.UniqueConstraint(
                models.F("batch"), models.F("invoice"), name="batch_item_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="batchitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "skipped__in",
                        ["", "sent", "under_way", "paid", "void", "not_sent", "problem"],
                    )
                ),
                name="batch_item_skipped",
            ),
        ),
        migrations.AddConstraint(
            model_name="batchitem",
            constraint=models.CheckConstraint(
                condition=models.Q(("delivery__isnull", True), ("skipped", ""), _connector="OR"),
                name="batch_item_queued_or_skipped",
            ),
        ),
        migrations.AddConstraint(
            model_name="batchitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("reason", ""), ("skipped", "")),
                    models.Q(
                        models.Q(("skipped", ""), _negated=True),
                        models.Q(("reason", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="batch_item_skipped_has_reason",
            ),
        ),
    ]
