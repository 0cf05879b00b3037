"""Running hand-written SQL on Django's connection, with rows by name."""

import re
from collections.abc import Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from django.db import connection

# Time is PostgreSQL's: one clock for the whole fleet. A test passes a literal instead. Not
# transaction_timestamp(), which stands still while a caller's transaction waits for a lock.
NOW = "coalesce(%(now)s::timestamptz, statement_timestamp())"

# A row with its columns as attributes; which ones, the statement says.
Row = Any

# What PostgreSQL's text cannot hold, but a provider's answer can: NUL, and half a character.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def rows(statement: str, parameters: Mapping[str, Any]) -> list[Row]:
    """Run a statement that returns rows; each has its columns as attributes."""
    with connection.cursor() as cursor:
        cursor.execute(statement, dict(parameters))
        names = [column.name for column in cursor.description or ()]
        return [SimpleNamespace(**dict(zip(names, row, strict=True))) for row in cursor.fetchall()]


def one(statement: str, parameters: Mapping[str, Any]) -> Row:
    """Return the first row, or None."""
    found = rows(statement, parameters)
    return found[0] if found else None


def locked(statement: str, parameters: Mapping[str, Any]) -> list[Row]:
    """Return the rows of `ids` that a statement with FOR UPDATE finds, live or archived.

    A row that was archived while we waited for it is gone from that statement's sight, but not from
    the next one's.
    """
    found = rows(statement, parameters)
    return found if len(found) == len(parameters["ids"]) else rows(statement, parameters)


def run(statement: str, parameters: Mapping[str, Any]) -> int:
    """Run a statement; return how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, dict(parameters))
        return int(cursor.rowcount)


def storable(text: str) -> str:
    """Return the text with a replacement character for each that PostgreSQL cannot hold."""
    return _UNSTORABLE.sub("�", text)


def database_now(now: datetime | None = None) -> datetime:
    """Return the given time, else the database's."""
    return now or rows(f"SELECT {NOW} AS now", {"now": None})[0].now
