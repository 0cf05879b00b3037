"""Support's search over all organizations, indexed without locking the invoices out."""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.operations import AddIndexConcurrently
from django.contrib.postgres.search import SearchVector
from django.db import migrations, models
from django.db.models.functions import Lower, Reverse, Upper


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("invoices", "0002_reminders_of_a_day")]

    operations = [
        AddIndexConcurrently(
            "customer",
            models.Index(
                OpClass(Lower("email"), name="text_pattern_ops"), name="customer_by_email_start"
            ),
        ),
        AddIndexConcurrently(
            "customer",
            GinIndex(SearchVector("name", config="simple"), name="customer_by_words_of_name"),
        ),
        AddIndexConcurrently(
            "invoice",
            models.Index(
                OpClass(Upper("number"), name="text_pattern_ops"), name="invoice_by_number_start"
            ),
        ),
        AddIndexConcurrently(
            "invoice",
            models.Index(
                OpClass(Reverse(Upper("number")), name="text_pattern_ops"),
                name="invoice_by_number_end",
            ),
        ),
    ]
