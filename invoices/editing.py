"""Two people who change the same thing at once: the second is told, and loses nothing."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Model


class ChangedMeanwhile(Exception):
    """Somebody changed the row after its form was shown; `fields` names what differs now."""

    def __init__(self, fields: Mapping[str, Any], *, seen: str) -> None:
        super().__init__("Somebody else has changed this meanwhile.")
        self.fields = fields
        self.seen = seen


def fingerprint(row: Model, fields: Iterable[str]) -> str:
    """Name the values a form shows: whoever changes one of them, by whatever way, changes it."""
    values = [(field, getattr(row, field)) for field in sorted(fields)]
    return hashlib.blake2b(repr(values).encode(), digest_size=12).hexdigest()


def write(row: Model, values: Mapping[str, Any], *, seen: str) -> list[str]:
    """Write what differs to a row that the caller has locked, and return those fields' names.

    The row may be one that is not stored yet.

    `seen` is the fingerprint that the form was shown with. Raise `ChangedMeanwhile` if it is
    another one now, and something would be overwritten.
    """
    changed = [
        name for name, value in values.items() if _plain(getattr(row, name)) != _plain(value)
    ]
    now = fingerprint(row, values)
    if changed and seen != now:
        raise ChangedMeanwhile({field: getattr(row, field) for field in changed}, seen=now)
    for field in changed:
        setattr(row, field, values[field])
    if changed:
        row.save(update_fields=changed if row.pk else None)
    return changed


def _plain(value: Any) -> Any:
    """Forms post line breaks as CR LF, whatever they were: that is no change."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value
