"""What a migration may do while processes of the release before it still run.

Expand, deploy, contract: a column is added in one release, used in it, and an old one removed in a
later release, when no process knows it any more. Such a removal is put on `ALLOWED`, with a reason.
"""

from collections.abc import Iterator
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED

# The newest migrations of the release that may still run. Move them on with each release.
BASELINE = {
    "deliveries": "0007_provider_events_indexed",
    "invoicehub": "0001_roles",
    "invoices": "0009_customer_list",
}

# "app.name": why no process of the release before is hurt by what the rules refuse.
ALLOWED: dict[str, str] = {}

_DESTRUCTIVE: dict[type[Operation], str] = {
    migrations.RemoveField: "removes a column that old processes still write",
    migrations.RenameField: "renames a column that old processes know by its old name",
    migrations.DeleteModel: "removes a table that old processes still use",
    migrations.RenameModel: "renames a table that old processes know by its old name",
    migrations.AlterModelTable: "renames a table that old processes know by its old name",
}


def complaints(label: str, operation: Operation, before: ProjectState) -> Iterator[str]:
    """Yield a sentence for each way in which the operation hurts old processes."""
    for kind, words in _DESTRUCTIVE.items():
        if isinstance(operation, kind):
            yield f"{_name(operation)} {words}."
    match operation:
        case migrations.AddField(field=field) if _must_be_given(field):
            yield f"{_name(operation)} adds a column that old processes do not fill: db_default."
        case migrations.AlterField(field=field) if _is_narrower(label, operation, before):
            yield f"{_name(operation)} refuses values that old processes still write."
        case migrations.AddIndex() if _locks(label, operation, before):
            yield f"{_name(operation)} stops all writing meanwhile: AddIndexConcurrently."
        case migrations.SeparateDatabaseAndState(database_operations=inner):
            for one in inner:
                yield from complaints(label, one, before)


def _name(operation: Operation) -> str:
    return f"{type(operation).__name__} ({operation.describe()})"


def _must_be_given(field: "models.Field[Any, Any]") -> bool:
    if isinstance(field, models.ManyToManyField) or getattr(field, "generated", False):
        return False
    return not field.null and field.db_default is NOT_PROVIDED


def _locks(label: str, operation: migrations.AddIndex, before: ProjectState) -> bool:
    exists = (label, operation.model_name.lower()) in before.models
    return exists and not isinstance(operation, AddIndexConcurrently)


def _is_narrower(label: str, operation: migrations.AlterField, before: ProjectState) -> bool:
    state = before.models.get((label, operation.model_name.lower()))
    if state is None:
        return False
    old, new = state.fields[operation.name], operation.field
    becomes_required = old.null and not new.null
    loses_default = old.db_default is not NOT_PROVIDED and new.db_default is NOT_PROVIDED
    shorter = (new.max_length or 10**9) < (old.max_length or 10**9)
    return becomes_required or (loses_default and not new.null) or shorter
