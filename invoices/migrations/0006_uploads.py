"""Files between their check and their import: a new table, which old code does not know."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("invoices", "0005_batches"),
    ]

    operations = [
        migrations.CreateModel(
            name="Upload",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("sha256", models.CharField(max_length=64)),
                ("content", models.BinaryField(help_text="Emptied by the import.")),
                ("dates", models.CharField(db_default="", default="", max_length=3)),
                ("decimal", models.CharField(db_default="", default="", max_length=1)),
                ("skip_existing", models.BooleanField(db_default=False, default=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("imported_at", models.DateTimeField(blank=True, null=True)),
                (
                    "imported",
                    models.PositiveIntegerField(
                        blank=True, help_text="How many invoices it became.", null=True
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="uploads",
                        to="invoices.organization",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="upload",
            index=models.Index(models.F("created_at"), name="upload_by_age"),
        ),
    ]
