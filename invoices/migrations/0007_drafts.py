"""What people decide on a draft: a discount, and who gets the e-mail.

Old code goes on inserting invoices: each column has a default in the database. The constraint is
added unchecked and checked afterwards, which locks nobody out.
"""

from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):
    # Each step by itself: checked in the transaction that adds it, a constraint keeps its lock.
    atomic = False

    dependencies = [("invoices", "0006_uploads")]

    operations = [
        migrations.AddField(
            "invoice",
            "discount_rate",
            models.DecimalField(
                max_digits=7,
                decimal_places=4,
                default=Decimal(0),
                db_default=Decimal(0),
                help_text="In per cent, on all lines: 2.5 means 2.5 %.",
            ),
        ),
        migrations.AddField(
            "invoice",
            "to",
            ArrayField(
                models.CharField(max_length=320),
                default=list,
                db_default=[],
                blank=True,
                help_text="Who gets the e-mail; empty for the customer's own address.",
            ),
        ),
        migrations.AddField(
            "invoice",
            "cc",
            ArrayField(
                models.CharField(max_length=320),
                default=list,
                db_default=[],
                blank=True,
                help_text="Who gets a copy.",
            ),
        ),
        AddConstraintNotValid(
            "invoice",
            models.CheckConstraint(
                name="invoice_discount_sane",
                condition=models.Q(discount_rate__gte=0, discount_rate__lte=100),
            ),
        ),
        ValidateConstraint("invoice", "invoice_discount_sane"),
    ]
