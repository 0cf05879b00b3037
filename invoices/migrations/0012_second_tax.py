"""A line may bear a second tax, as in Québec: 5 % and 9.975 % of the same price.

Old code goes on inserting lines, which have none then. The constraints are added unchecked and
checked afterwards, which locks nobody out.
"""

from decimal import Decimal

from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    # Each step by itself: checked in the transaction that adds it, a constraint keeps its lock.
    atomic = False

    dependencies = [("invoices", "0011_imported")]

    operations = [
        migrations.AddField(
            "invoiceline",
            "second_tax_rate",
            models.DecimalField(
                max_digits=7,
                decimal_places=4,
                default=Decimal(0),
                db_default=Decimal(0),
                help_text="Of a second tax on the same line, as in Québec; 0 for none.",
            ),
        ),
        AddConstraintNotValid(
            "invoiceline",
            models.CheckConstraint(
                name="line_second_tax_rate_sane",
                condition=Q(second_tax_rate__gte=0, second_tax_rate__lte=100),
            ),
        ),
        ValidateConstraint("invoiceline", "line_second_tax_rate_sane"),
        AddConstraintNotValid(
            "invoiceline",
            models.CheckConstraint(
                name="line_second_tax_beside_another",
                condition=Q(second_tax_rate=0)
                | (Q(tax_rate__gt=0) & ~Q(second_tax_rate=F("tax_rate"))),
            ),
        ),
        ValidateConstraint("invoiceline", "line_second_tax_beside_another"),
    ]
