"""Reports that wait for their delivery to be settled, and how both sides find each other."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum

from deliveries.ledger import sql


class Link(Enum):
    """By what a report belongs to a delivery `d`."""

    MESSAGE = "d.provider_message_id = event.provider_message_id AND d.provider_message_id <> ''"
    # Its tag gave our key back, with no id of a message or with another one.
    TAG = "d.id = event.delivery_id"


_COLUMNS = """
    event.id, event.event_id, event.outcome, event.provider_message_id, event.happened_at,
    event.reason, event.address, d.id AS delivery_id, d.provider_message_id AS beside,
    d.correlation_id, d.kind, d.reference
"""


def hold(names: Sequence[str]) -> None:
    """Let nobody else report or settle what bears these names until the transaction ends.

    Names are the provider's ids of messages, and our keys. In order of the lock itself, so that no
    two transactions wait for each other.
    """
    sql.rows(
        """
        SELECT pg_advisory_xact_lock(key) FROM (
            SELECT DISTINCT hashtextextended('provider_message:' || id, 0) AS key
            FROM unnest(%(ids)s::text[]) AS id WHERE id <> '' ORDER BY key
        ) AS keys
        """,
        {"ids": list(names)},
    )


def sent_as(message_ids: Sequence[str]) -> list[sql.Row]:
    """Return id and key of the deliveries that were sent under these ids of the provider."""
    return sql.rows(
        """
        SELECT id, idempotency_key FROM ONLY deliveries_delivery
        WHERE provider_message_id = ANY(%(ids)s) AND provider_message_id <> '' AND status = 'sent'
        """,
        {"ids": list(message_ids)},
    )


def reports_of(link: Link, delivery_ids: Sequence[int]) -> list[sql.Row]:
    """Return, and lock, the reports that wait for one of these deliveries."""
    return sql.rows(
        f"""
        SELECT {_COLUMNS} FROM deliveries_providerevent event
        JOIN ONLY deliveries_delivery d ON {link.value}
        WHERE d.id = ANY(%(ids)s) AND event.state = 'waiting' AND d.status = 'sent'
        ORDER BY event.id
        FOR NO KEY UPDATE OF event
        """,
        {"ids": list(delivery_ids)},
    )


def lately(link: Link, *, since: timedelta, limit: int, now: datetime | None) -> list[sql.Row]:
    """Return, and lock, the reports that wait although their delivery was sent."""
    return sql.rows(
        f"""
        SELECT {_COLUMNS} FROM deliveries_providerevent event
        JOIN ONLY deliveries_delivery d ON d.status = 'sent' AND {link.value}
        WHERE event.state = 'waiting' AND event.received_at > {sql.NOW} - %(since)s
        ORDER BY event.id LIMIT %(limit)s
        FOR NO KEY UPDATE OF event SKIP LOCKED
        """,
        {"now": now, "since": since, "limit": limit},
    )
