"""A queue rewrites its rows: leave room on the page for heap-only updates, vacuum early.

At the default scale factor of 0.2 a table of ten million rows is vacuumed after two million dead
ones, and a claim wades through them.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("deliveries", "0001_ledger")]

    operations = [
        migrations.RunSQL(
            """
            ALTER TABLE deliveries_delivery SET (
                fillfactor = 75,
                autovacuum_vacuum_scale_factor = 0.01,
                autovacuum_analyze_scale_factor = 0.02
            );
            ALTER TABLE deliveries_lane SET (fillfactor = 50);
            ALTER TABLE deliveries_flow SET (fillfactor = 75);
            ALTER TABLE deliveries_workerpresence SET (fillfactor = 50);
            """,
            """
            ALTER TABLE deliveries_delivery RESET (
                fillfactor, autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor
            );
            ALTER TABLE deliveries_lane RESET (fillfactor);
            ALTER TABLE deliveries_flow RESET (fillfactor);
            ALTER TABLE deliveries_workerpresence RESET (fillfactor);
            """,
        )
    ]
