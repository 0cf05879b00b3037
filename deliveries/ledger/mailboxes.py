"""What reports say of addresses: when e-mail last got there, and when it last came back."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from deliveries.ledger import blamed_addresses, sql
from deliveries.ledger.loudness import LOUDNESS, RANK
from deliveries.models import Delivery, ProviderEvent

_Outcome = Delivery.AfterSending

# After these an address is not worth another try.
REFUSALS = (_Outcome.BOUNCED, _Outcome.SUPPRESSED, _Outcome.COMPLAINED)


@dataclass(frozen=True, kw_only=True)
class _Noted:
    """All that was told of one message to one address."""

    organization_id: int
    address: str
    delivery_id: int
    arrived_at: datetime | None = None
    came_back_at: datetime | None = None
    came_back_as: str = ""
    reason: str = ""

    def place(self) -> tuple[int, str, int]:
        return self.organization_id, self.address, self.delivery_id


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a hand-over itself said of a message's recipients."""

    delivery_id: int
    # Why, by recipient.
    refused: Mapping[str, str]
    took_all: bool


def note(
    events: Sequence[sql.Row], judged: Sequence[Judged] = (), *, now: datetime | None = None
) -> None:
    """Note for each address when e-mail last got there and when it last came back for good.

    The events must have been applied. Joins the caller's transaction.
    """
    telling = {e.delivery_id for e in events if e.outcome in (_Outcome.DELIVERED, *REFUSALS)}
    judged = [each for each in judged if each.refused or each.took_all]
    all_noted = [*_all_told(sorted(telling)), *_all_judged(judged, now)]
    # In order of their key: two transactions that note the same ones never wait for each other.
    for noted in sorted(all_noted, key=_Noted.place):
        _upsert(noted)


def recipients_of(delivery_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return, by delivery, the addresses that its message went to; see `blamed_addresses.bare`."""
    return {row.id: blamed_addresses.bare(row.recipients or ()) for row in _letters(delivery_ids)}


def blamed(delivery_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return, by delivery, the addresses from which it came back, as far as events say; reads.

    Two queries. Nothing of a delivery whose events were forgotten, or blame nobody.
    """
    events = ProviderEvent.objects.filter(
        delivery__in=delivery_ids, outcome__in=[each.value for each in Delivery.CAME_BACK]
    ).order_by("delivery_id", "id")
    recipients = recipients_of(delivery_ids)
    found: dict[int, dict[str, None]] = defaultdict(dict)
    for event in events:
        pk = event.delivery_id or 0
        if address := blamed_addresses.blame(event, recipients.get(pk, ())):
            found[pk][address] = None
    return {pk: tuple(addresses) for pk, addresses in found.items()}


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


def _all_told(delivery_ids: Sequence[int]) -> Iterator[_Noted]:
    """Gather all events of these deliveries, for a message's own ones are weighed together."""
    if not delivery_ids:
        return
    events = ProviderEvent.objects.filter(
        delivery__in=delivery_ids,
        state__in=[ProviderEvent.State.APPLIED, ProviderEvent.State.OUTRANKED],
        outcome__in=[_Outcome.DELIVERED.value, *(each.value for each in REFUSALS)],
    )
    by_delivery: dict[int, list[ProviderEvent]] = defaultdict(list)
    for event in events:
        by_delivery[event.delivery_id or 0].append(event)
    for letter in _letters(delivery_ids):
        recipients = blamed_addresses.bare(letter.recipients or ())
        by_address: dict[str, list[ProviderEvent]] = defaultdict(list)
        for event in by_delivery[letter.id]:
            by_address[blamed_addresses.blame(event, recipients)].append(event)
        for address, told in by_address.items():
            if address:
                yield _weighed(told, letter.organization_id, address, letter.id)


def _all_judged(judged: Sequence[Judged], now: datetime | None) -> Iterator[_Noted]:
    if not judged:
        return
    at = sql.one(f"SELECT {sql.NOW} AS at", {"now": now}).at
    letters = {row.id: row for row in _letters([each.delivery_id for each in judged])}
    refusing = _refusing(letters.values()) if any(each.took_all for each in judged) else set()
    for each in judged:
        letter = letters[each.delivery_id]
        told = {address.strip().lower(): why for address, why in each.refused.items()}
        for address in blamed_addresses.bare(letter.recipients or ()):
            noted = _Noted(
                organization_id=letter.organization_id, address=address, delivery_id=letter.id
            )
            if address in told:
                yield replace(
                    noted, came_back_at=at, came_back_as=_Outcome.BOUNCED, reason=told[address]
                )
            # That it took one is no news, unless it was refused before.
            elif each.took_all and (letter.organization_id, address) in refusing:
                yield replace(noted, arrived_at=at)


def _refusing(letters: Iterable[sql.Row]) -> set[tuple[int, str]]:
    asked = [
        (letter.organization_id, address)
        for letter in letters
        for address in blamed_addresses.bare(letter.recipients or ())
    ]
    found = sql.rows(
        """
        SELECT organization_id, address FROM deliveries_mailbox
        JOIN unnest(%(organizations)s::bigint[], %(addresses)s::text[])
            AS asked (organization_id, address) USING (organization_id, address)
        WHERE came_back_at IS NOT NULL AND (arrived_at IS NULL OR arrived_at <= came_back_at)
        """,
        {
            "organizations": [organization_id for organization_id, _address in asked],
            "addresses": [address for _organization, address in asked],
        },
    )
    return {(row.organization_id, row.address) for row in found}


def _weighed(
    events: Iterable[ProviderEvent], organization_id: int, address: str, delivery_id: int
) -> _Noted:
    """Weigh what was told of one message: if it came back, its own "delivered" clears nothing.

    So it came back no earlier than it got there. The loudest says how, whatever its time: then
    every order of the events ends the same.
    """
    events = list(events)
    arrived = [each.happened_at for each in events if each.outcome == _Outcome.DELIVERED]
    refusals = [each for each in events if each.outcome != _Outcome.DELIVERED]
    loudest = max(refusals, key=lambda e: (LOUDNESS[e.outcome], e.reason), default=None)
    return _Noted(
        organization_id=organization_id,
        address=address,
        delivery_id=delivery_id,
        arrived_at=max(arrived, default=None),
        came_back_at=max(each.happened_at for each in events) if loudest else None,
        came_back_as=loudest.outcome if loudest else "",
        reason=loudest.reason if loudest else "",
    )


def _upsert(noted: _Noted) -> None:
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
            "organization": noted.organization_id,
            "address": noted.address[:320],
            "arrived_at": noted.arrived_at,
            "came_back_at": noted.came_back_at,
            "came_back_as": noted.came_back_as,
            "reason": noted.reason,
            "loudness": list(LOUDNESS),
        },
    )
