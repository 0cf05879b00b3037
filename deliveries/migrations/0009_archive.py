"""The archive: final deliveries and their timelines, out of the way of claims, never out of sight.

Its tables are PostgreSQL children of the live ones. So every page, search and count that reads
`deliveries_delivery` reads both, without knowing; a column or check added to the parent is added
to the child in the same statement; and a statement that says ONLY, as all that workers run do,
never opens the archive. A status that the child's check rules out leaves it out of the plan.
Foreign keys and unique constraints do not reach over both tables: `manage.py check_ledger` does.
"""

import django.db.models.deletion
from django.db import migrations, models

ARCHIVE = """
    CREATE TABLE deliveries_archiveddelivery (
        CONSTRAINT archiveddelivery_pkey PRIMARY KEY (id),
        -- The key stays taken for life: no second row of an intent can be archived.
        CONSTRAINT archived_dedupe_key UNIQUE (dedupe_key),
        -- Search, and reports that name our key in their tags.
        CONSTRAINT archived_idempotency_key UNIQUE (idempotency_key),
        -- Only what no worker and no person will touch again. PostgreSQL leaves the archive out of
        -- the plan of whatever asks for another status.
        CONSTRAINT archived_is_over CHECK (status IN ('sent', 'cancelled')),
        CONSTRAINT archived_organization FOREIGN KEY (organization_id)
            REFERENCES invoices_organization (id) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT archived_invoice FOREIGN KEY (invoice_id)
            REFERENCES invoices_invoice (id) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT archived_requested_by FOREIGN KEY (requested_by_id)
            REFERENCES auth_user (id) DEFERRABLE INITIALLY DEFERRED
    ) INHERITS (deliveries_delivery);

    CREATE TABLE deliveries_archivedevent (
        CONSTRAINT archivedevent_pkey PRIMARY KEY (id),
        CONSTRAINT archived_event_of FOREIGN KEY (delivery_id)
            REFERENCES deliveries_archiveddelivery (id) DEFERRABLE INITIALLY DEFERRED,
        CONSTRAINT archived_event_actor FOREIGN KEY (actor_id)
            REFERENCES auth_user (id) DEFERRABLE INITIALLY DEFERRED
    ) INHERITS (deliveries_deliveryevent);

    -- A late bounce, a late click: steps of archived deliveries, numbered with all others.
    DO $$ BEGIN EXECUTE format(
        'ALTER TABLE deliveries_archivedevent ALTER COLUMN id SET DEFAULT nextval(%L)',
        pg_get_serial_sequence('deliveries_deliveryevent', 'id')
    ); END $$;

    -- Each serves what the live table's index of the same columns serves there.
    CREATE INDEX archived_by_invoice ON deliveries_archiveddelivery (invoice_id, kind, id);
    CREATE INDEX archived_by_correlation_id ON deliveries_archiveddelivery (correlation_id);
    CREATE INDEX archived_by_provider_id ON deliveries_archiveddelivery (provider_message_id)
        WHERE provider_message_id <> '';
    CREATE INDEX archived_cancelled ON deliveries_archiveddelivery (id) WHERE status = 'cancelled';
    CREATE INDEX archived_came_back
        ON deliveries_archiveddelivery (organization_id, after_sending_at DESC, id DESC)
        WHERE after_sending IN
            ('bounced_for_now', 'suppressed', 'failed', 'bounced', 'complained');
    CREATE INDEX archived_by_report ON deliveries_archiveddelivery (after_sending, id DESC)
        WHERE after_sending IN
            ('bounced_for_now', 'suppressed', 'failed', 'bounced', 'complained');
    -- As delivery_reminders_of_a_day, which invoices made on the live table: a day's page.
    CREATE INDEX archived_reminders_of_a_day
        ON deliveries_archiveddelivery (organization_id, "right"(dedupe_key::text, 10))
        WHERE kind = 'reminder';
    CREATE INDEX archived_event_by_delivery ON deliveries_archivedevent (delivery_id, id);
    CREATE INDEX archived_event_by_correlation_id ON deliveries_archivedevent (correlation_id);
"""

# Puts everything back: nothing that was archived is lost by going back.
BACK = """
    INSERT INTO deliveries_delivery SELECT * FROM deliveries_archiveddelivery;
    INSERT INTO deliveries_deliveryevent SELECT * FROM deliveries_archivedevent;
    -- Tables with checks still to come cannot be altered.
    SET CONSTRAINTS ALL IMMEDIATE;
    DROP TABLE deliveries_archivedevent;
    DROP TABLE deliveries_archiveddelivery;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("deliveries", "0008_waiting_since"),
        ("invoices", "0003_search"),
    ]

    operations = [
        migrations.AlterField(
            model_name="message",
            name="delivery",
            field=models.ForeignKey(
                to="deliveries.delivery",
                on_delete=django.db.models.deletion.PROTECT,
                db_index=False,
                # It may point into the archive, where no constraint of the live table reaches.
                db_constraint=False,
                related_name="messages",
            ),
        ),
        migrations.AlterField(
            model_name="providerevent",
            name="delivery",
            field=models.ForeignKey(
                to="deliveries.delivery",
                on_delete=django.db.models.deletion.PROTECT,
                db_index=False,
                # It may point into the archive, where no constraint of the live table reaches.
                db_constraint=False,
                related_name="provider_events",
                null=True,
                blank=True,
            ),
        ),
        migrations.AddField(
            "message",
            "content_dropped_at",
            models.DateTimeField(
                blank=True,
                help_text="Since when its text, HTML and attachments are gone: see the retention.",
                null=True,
            ),
        ),
        migrations.RunSQL(ARCHIVE, BACK),
    ]
