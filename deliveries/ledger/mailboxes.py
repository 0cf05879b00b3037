"""What reports say of addresses: when e-mail last got there, and when it last came back."""

from collections.abc import Sequence
from email.utils import parseaddr

from deliveries.ledger import sql
from deliveries.ledger.loudness import LOUDNESS, RANK
from deliveries.models import Delivery

_Outcome = Delivery.AfterSending

# After these an address is not worth another try.
REFUSALS = (_Outcome.BOUNCED, _Outcome.SUPPRESSED, _Outcome.COMPLAINED)


def note(events: Sequence[sql.Row]) -> None:
    """Note for each address when e-mail last got there and when it last came back for good."""
    telling = [e for e in events if e.outcome == _Outcome.DELIVERED or e.outcome in REFUSALS]
    if not telling:
        return
    letters = {row.id: row for row in _letters([event.delivery_id for event in telling])}
    noted = [
        (letter.organization_id, address, event)
        for event in telling
        if (letter := letters.get(event.delivery_id)) and (address := _address(event, letter))
    ]
    # In order of their key: two transactions that note the same ones never wait for each other.
    for organization_id, address, event in sorted(noted, key=lambda each: (each[:2], each[2].id)):
        _upsert(organization_id, address, event)


def _letters(delivery_ids: Sequence[int]) -> list[sql.Row]:
    return sql.rows(
        """
        SELECT d.id, d.organization_id, message."to" || message.cc AS recipients
        FROM deliveries_delivery d
        LEFT JOIN deliveries_message message ON message.idempotency_key = d.idempotency_key
        WHERE d.id = ANY(%(ids)s)
        """,
        {"ids": list(delivery_ids)},
    )


def _address(event: sql.Row, letter: sql.Row) -> str:
    """Return whose mailbox it was, in lower case; empty where the event may mean another."""
    recipients = {parseaddr(each)[1].strip().lower() for each in letter.recipients or ()}
    if len(recipients) == 1:
        return recipients.pop()
    told: str = event.address.strip().lower()
    return told if told in recipients else ""


def _upsert(organization_id: int, address: str, event: sql.Row) -> None:
    arrived = event.outcome == _Outcome.DELIVERED
    sql.run(
        f"""
        INSERT INTO deliveries_mailbox AS known
            (organization_id, address, arrived_at, came_back_at, came_back_as, came_back_reason)
        VALUES (%(organization)s, %(address)s, %(arrived_at)s, %(came_back_at)s, %(came_back_as)s,
                %(reason)s)
        ON CONFLICT (organization_id, address) DO UPDATE SET
            arrived_at = greatest(known.arrived_at, excluded.arrived_at),
            (came_back_at, came_back_as, came_back_reason) = (
                SELECT at, outcome, reason FROM (VALUES
                    (known.came_back_at, known.came_back_as, known.came_back_reason),
                    (excluded.came_back_at, excluded.came_back_as, excluded.came_back_reason)
                ) AS told (at, outcome, reason)
                ORDER BY at DESC NULLS LAST, {RANK.format("outcome")} DESC NULLS LAST, reason DESC
                LIMIT 1
            )
        """,
        {
            "organization": organization_id,
            "address": address[:320],
            "arrived_at": event.happened_at if arrived else None,
            "came_back_at": None if arrived else event.happened_at,
            "came_back_as": "" if arrived else event.outcome,
            "reason": "" if arrived else event.reason,
            "loudness": list(LOUDNESS),
        },
    )
