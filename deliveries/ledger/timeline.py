"""Writing the timeline: one row for each step of a delivery, in words a person can read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from deliveries.ledger import sql
from deliveries.models import DeliveryEvent


@dataclass(frozen=True, kw_only=True)
class Event:
    delivery_id: int
    type: DeliveryEvent.Type
    sentence: str
    correlation_id: str
    attempt: int | None = None
    worker: str = ""
    actor_id: int | None = None
    details: dict[str, object] = field(default_factory=dict)


def record(events: Sequence[Event], *, now: datetime | None = None) -> None:
    """Append the events in one statement, in the caller's transaction.

    To live deliveries, such as the caller has just changed. See `record_anywhere`.
    """
    if events:
        sql.run(
            f"INSERT INTO deliveries_deliveryevent {_COLUMNS} {_CHOSEN} ORDER BY place",
            _parameters(events, now),
        )


def record_anywhere(events: Sequence[Event], *, now: datetime | None = None) -> None:
    """Append events to deliveries that may have been archived, or are being archived right now.

    Joins the caller's transaction. It locks the live rows as their foreign key would, but first:
    it waits for an archiver, sees that the row is gone, and writes beside where it went.
    """
    if events:
        sql.run(
            f"""
            WITH live AS MATERIALIZED (
                SELECT id FROM ONLY deliveries_delivery WHERE id = ANY(%(delivery_ids)s)
                ORDER BY id FOR KEY SHARE
            ), archived AS (
                INSERT INTO deliveries_archivedevent {_COLUMNS}
                {_CHOSEN} WHERE delivery_id NOT IN (SELECT id FROM live) ORDER BY place
            )
            INSERT INTO deliveries_deliveryevent {_COLUMNS}
            {_CHOSEN} WHERE delivery_id IN (SELECT id FROM live) ORDER BY place
            """,
            _parameters(events, now),
        )


_COLUMNS = "(delivery_id, at, type, attempt, worker, actor_id, correlation_id, sentence, details)"

_CHOSEN = f"""
    SELECT delivery_id, {sql.NOW}, type, attempt, worker, actor_id, correlation_id, sentence,
           details
    FROM unnest(
        %(delivery_ids)s::bigint[], %(types)s::text[], %(attempts)s::int[],
        %(workers)s::text[], %(actor_ids)s::bigint[], %(correlation_ids)s::text[],
        %(sentences)s::text[], %(details)s::jsonb[]
    ) WITH ORDINALITY AS event
        (delivery_id, type, attempt, worker, actor_id, correlation_id, sentence, details, place)
"""


def _parameters(events: Sequence[Event], now: datetime | None) -> dict[str, object]:
    return {
        "now": now,
        "delivery_ids": [event.delivery_id for event in events],
        "types": [event.type.value for event in events],
        "attempts": [event.attempt for event in events],
        "workers": [event.worker for event in events],
        "actor_ids": [event.actor_id for event in events],
        "correlation_ids": [event.correlation_id for event in events],
        "sentences": [sql.storable(event.sentence) for event in events],
        "details": [json.dumps(_storable(event.details)) for event in events],
    }


def _storable(value: object) -> object:
    """Return what is JSON as JSON that PostgreSQL can hold, and anything else in words."""
    match value:
        case None | bool() | int() | float():
            return value
        case dict():
            return {sql.storable(str(key)): _storable(each) for key, each in value.items()}
        case list() | tuple():
            return [_storable(each) for each in value]
        case _:
            return sql.storable(str(value))
