"""Reports found by index and held to the rules, without locking the ledger out."""

from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models
from django.db.models import F, Q

CAME_BACK = Q(
    after_sending__in=["bounced_for_now", "suppressed", "failed", "bounced", "complained"]
)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("deliveries", "0006_provider_events")]

    operations = [
        ValidateConstraint("delivery", "delivery_after_sending"),
        ValidateConstraint("delivery", "delivery_after_sending_only_when_sent"),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                "organization",
                F("after_sending_at").desc(),
                F("id").desc(),
                name="delivery_came_back",
                condition=CAME_BACK,
            ),
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                "after_sending", F("id").desc(), name="delivery_by_report", condition=CAME_BACK
            ),
        ),
    ]
