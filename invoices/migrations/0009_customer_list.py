"""The customer list's index, made without locking the customers out."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("invoices", "0008_settings")]

    operations = [
        AddIndexConcurrently(
            "customer",
            models.Index(
                models.F("organization"), Lower("name"), models.F("id"), name="customer_list"
            ),
        ),
    ]
