"""The page /reminders: the reminders of one organization and day (`invoices.reminders.of_day`).

The day is in the dedupe key and nowhere else; when a row was recorded says nothing of the day it
is for, since a run may catch up. What the key means is known here, not to the ledger, so the
index is made here too. All reminders of one organization and day have the same index key, which
PostgreSQL stores once: some seven bytes for each reminder. Made without locking the ledger out.
"""

from django.db import migrations


class Migration(migrations.Migration):
    # CONCURRENTLY, which no transaction can hold.
    atomic = False

    dependencies = [
        ("deliveries", "0002_storage_of_a_queue"),
        ("invoices", "0001_organizations_and_invoices"),
    ]

    operations = [
        migrations.RunSQL(
            [
                # An interrupted run leaves an invalid index behind.
                "DROP INDEX CONCURRENTLY IF EXISTS delivery_reminders_of_a_day",
                """
                CREATE INDEX CONCURRENTLY delivery_reminders_of_a_day
                ON deliveries_delivery (organization_id, right(dedupe_key, 10))
                WHERE kind = 'reminder'
                """,
            ],
            "DROP INDEX CONCURRENTLY IF EXISTS delivery_reminders_of_a_day",
        )
    ]
