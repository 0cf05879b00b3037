"""Processes of the release before run on the new schema, while the new ones are started."""

from collections.abc import Iterator

import pytest
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.migration import Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ModelState, ProjectState

from tests.migrations.rules import ALLOWED, BASELINE, complaints

LOADER = MigrationLoader(None)


def state_of_the_release_before() -> ProjectState:
    return LOADER.project_state(list(BASELINE.items()))


def new_migrations() -> Iterator[Migration]:
    graph = LOADER.graph
    old = {node for at in BASELINE.items() for node in graph.forwards_plan(at)}
    seen = set(old)
    for leaf in graph.leaf_nodes():
        for node in graph.forwards_plan(leaf):
            if node[0] in BASELINE and node not in seen:
                seen.add(node)
                yield graph.nodes[node]


def test_no_migration_since_the_release_before_hurts_its_processes() -> None:
    found = []
    for migration in new_migrations():
        name = f"{migration.app_label}.{migration.name}"
        state = LOADER.project_state((migration.app_label, migration.name), at_end=False)
        for operation in migration.operations:
            found += [f"{name}: {c}" for c in complaints(migration.app_label, operation, state)]
            # What is made here may be changed here.
            operation.state_forwards(migration.app_label, state)
    said = [line for line in found if line.split(":")[0] not in ALLOWED]
    assert not said, "\n".join(said)


def test_the_allow_list_names_migrations_that_are_new() -> None:
    assert set(ALLOWED) <= {f"{m.app_label}.{m.name}" for m in new_migrations()}


def test_what_the_release_before_writes_and_reads_fits_the_tables(db: None) -> None:
    """As the database sees it, so that hand-written SQL counts as well."""
    wrong = []
    for model in state_of_the_release_before().apps.get_models():
        if model._meta.app_label not in BASELINE or not model._meta.managed:
            continue
        table = model._meta.db_table
        known = {field.column or "": field for field in model._meta.concrete_fields}
        columns = _columns(table)
        wrong += [f"{table}.{name} is gone" for name in known.keys() - columns.keys()]
        wrong += [
            f"{table}.{name} must be given, and old processes do not know it"
            for name in columns.keys() - known.keys()
            if columns[name]
        ]
        wrong += [
            f"{table}.{name} must be given, and old processes may leave it empty"
            for name, field in known.items()
            if field.null and columns.get(name)
        ]
    assert wrong == []


def _columns(table: str) -> dict[str, bool]:
    """Return for each column whether an INSERT has to give it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, is_nullable = 'NO' AND column_default IS NULL"
            " AND is_identity = 'NO' AND is_generated = 'NEVER'"
            " FROM information_schema.columns"
            " WHERE table_schema = current_schema() AND table_name = %s",
            [table],
        )
        return dict(cursor.fetchall())


# The rules themselves -------------------------------------------------------------------------

BEFORE = ProjectState()
BEFORE.add_model(
    ModelState(
        "shop",
        "Order",
        [
            ("id", models.BigAutoField(primary_key=True)),
            ("note", models.CharField(max_length=100, null=True)),
            ("count", models.IntegerField(db_default=0)),
        ],
    )
)
NEW = models.Index(fields=["note"], name="by_note")


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (migrations.RemoveField("order", "note"), "removes a column"),
        (migrations.RenameField("order", "note", "remark"), "renames a column"),
        (migrations.DeleteModel("order"), "removes a table"),
        (migrations.RenameModel("order", "Purchase"), "renames a table"),
        (migrations.AlterModelTable("order", "orders"), "renames a table"),
        (migrations.AddField("order", "x", models.IntegerField(default=0)), "do not fill"),
        (migrations.AlterField("order", "note", models.CharField(max_length=100)), "refuses"),
        (
            migrations.AlterField("order", "note", models.CharField(max_length=50, null=True)),
            "refuses",
        ),
        (migrations.AlterField("order", "count", models.IntegerField()), "refuses"),
        (migrations.AddIndex("order", NEW), "AddIndexConcurrently"),
        (
            migrations.SeparateDatabaseAndState([migrations.RemoveField("order", "note")]),
            "removes a column",
        ),
    ],
)
def test_what_hurts_old_processes_is_refused(operation: Operation, says: str) -> None:
    [sentence] = complaints("shop", operation, BEFORE)
    assert says in sentence


@pytest.mark.parametrize(
    "operation",
    [
        migrations.CreateModel("Item", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddField("order", "x", models.IntegerField(null=True)),
        migrations.AddField("order", "x", models.IntegerField(db_default=0)),
        migrations.AlterField("order", "note", models.CharField(max_length=200, null=True)),
        migrations.AddIndex("item", NEW),
        migrations.RunPython(migrations.RunPython.noop),
    ],
)
def test_what_only_adds_passes(operation: Operation) -> None:
    assert list(complaints("shop", operation, BEFORE)) == []
