"""Following what the provider reports after sending: each event once, the state only upwards."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from psycopg.types.json import Jsonb

from deliveries import correlation
from deliveries.ledger import hooks, mailboxes, sql, timeline, waiting
from deliveries.ledger.loudness import LOUDNESS, RANK
from deliveries.models import Delivery, DeliveryEvent, ProviderEvent
from deliveries.reasons import sentence
from deliveries.reports import Report

logger = logging.getLogger(__name__)

_State = ProviderEvent.State

# A worker that knows nothing of events may have settled beside us: look again for so long.
SWEPT_FOR = timedelta(hours=1)


def report(told: Report, *, now: datetime | None = None) -> bool:
    """Keep an event and let its delivery follow it; one transaction. Return False if it was known.

    An event whose delivery is not known yet waits for it: see `catch_up`.
    """
    with transaction.atomic():
        event = _insert(told, now)
        if event is None:
            logger.info("provider event repeated", extra={"event": told.event_id})
            return False
        if told.outcome is not None:
            waiting.hold([told.provider_message_id, told.tag])
            _find_and_apply(event, told, now)
    return True


def catch_up(
    sent: Iterable[str],
    judged: Sequence[mailboxes.Judged] = (),
    *,
    now: datetime | None = None,
) -> None:
    """Let deliveries just settled as sent follow what was reported of them before.

    `judged` is what the hand-overs themselves said of recipients, noted with the reports.

    Joins the settling transaction, which the provider may well have overtaken. Either that report
    sees our commit or we see its own: both hold the message's id, and the key that its tag gives
    back, while they look.
    """
    ids = sorted(set(sent))
    _apply(_found_for(ids) if ids else [], now, judged)


def _found_for(message_ids: Sequence[str]) -> list[sql.Row]:
    """Return the reports that wait for what was just sent under these ids."""
    settled = waiting.sent_as(message_ids)
    waiting.hold([*message_ids, *(delivery.idempotency_key for delivery in settled)])
    pks = [delivery.id for delivery in settled]
    found = [row for link in waiting.Link for row in waiting.reports_of(link, pks)]
    return list({event.id: event for event in found}.values())


def follow_up_reports(*, limit: int = 200, now: datetime | None = None) -> int:
    """Let deliveries follow reports that wait although they were sent; return how many.

    One transaction. Mostly none: it is for what was settled by a worker of an older version, and
    for what could not be followed then. One that still cannot holds up no other.
    """
    with transaction.atomic():
        return sum(
            _apply_each(waiting.lately(link, since=SWEPT_FOR, limit=limit, now=now), now)
            for link in waiting.Link
        )


def _apply_each(events: Sequence[sql.Row], now: datetime | None) -> int:
    """Apply all that can be applied: together, else one by one, each in a savepoint."""
    if hooks.undoing_nothing(
        lambda: _apply(events, now), otherwise="a report could not be followed"
    ):
        return len(events)
    return sum(_apply_each([event], now) for event in events) if len(events) > 1 else 0


def _insert(told: Report, now: datetime | None) -> sql.Row:
    """Insert the event; None if it is there, or was committed while we waited for it."""
    return sql.one(
        f"""
        INSERT INTO deliveries_providerevent
            (event_id, type, outcome, provider_message_id, happened_at, reason, address,
             received_at, state, payload)
        VALUES (%(event_id)s, %(type)s, %(outcome)s, %(message_id)s,
                least(coalesce(%(at)s, {sql.NOW}), {sql.NOW}), %(reason)s, %(address)s,
                {sql.NOW}, %(state)s, %(payload)s)
        ON CONFLICT (event_id) DO NOTHING
        RETURNING id, event_id, outcome, provider_message_id, happened_at, reason, address,
            provider_message_id AS beside
        """,
        {
            "event_id": told.event_id,
            "type": told.type,
            "outcome": told.outcome or "",
            "message_id": told.provider_message_id,
            "at": told.at,
            "reason": told.reason,
            "address": told.address,
            "state": told.shelf,
            "payload": Jsonb(told.payload),
            "now": now,
        },
    )


def _find_and_apply(event: sql.Row, told: Report, now: datetime | None) -> None:
    found = _delivery_of(told)
    if found is None:
        logger.warning("provider event of an unknown message", extra={"event": told.event_id})
    elif found.status == Delivery.Status.SENT:
        event.delivery_id, event.beside = found.id, found.provider_message_id
        event.correlation_id, event.kind = found.correlation_id, found.kind
        event.reference = found.reference
        if told.at is None:
            event.happened_at = _told_at(event) or event.happened_at
            ProviderEvent.objects.filter(pk=event.id).update(happened_at=event.happened_at)
        _apply([event], now)
    else:
        # The tag says whose it is, but not yet that it was sent: for support to see meanwhile.
        ProviderEvent.objects.filter(pk=event.id).update(delivery_id=found.id)


def _delivery_of(told: Report) -> sql.Row:
    """Return the delivery by the provider's id of its message, else by our key in its tags.

    Reads without locking: a delivery that is being settled must not be waited for here.
    """
    found = sql.one(
        """
        SELECT id, status, provider_message_id, correlation_id, kind, reference
        FROM deliveries_delivery
        WHERE provider_message_id = %(id)s AND provider_message_id <> '' AND status = 'sent'
        ORDER BY id DESC LIMIT 1
        """,
        {"id": told.provider_message_id},
    )
    return found or sql.one(
        """
        SELECT id, status, provider_message_id, correlation_id, kind, reference
        FROM deliveries_delivery
        WHERE idempotency_key = %(tag)s
        """,
        {"tag": told.tag},
    )


def _told_at(event: sql.Row) -> datetime | None:
    """Return when the same happened by the timeline: no later, if an event tells no time itself.

    Else one that comes again after `forget_reports` would be news.
    """
    known = DeliveryEvent.objects.filter(
        delivery=event.delivery_id,
        type=event.outcome,
        sentence=_sentence(event),
    ).first()
    moment = known.details.get("happened_at") if known else None
    return datetime.fromisoformat(moment) if moment else None


def _apply(
    events: Sequence[sql.Row], now: datetime | None, judged: Sequence[mailboxes.Judged] = ()
) -> int:
    """Move each event's delivery up if it is louder; tell the timeline; note the mailboxes."""
    ordered = sorted(events, key=lambda event: (event.delivery_id, event.id))
    if ordered:
        _follow(ordered, now)
    mailboxes.note(ordered, judged, now=now)
    return len(ordered)


def _follow(ordered: Sequence[sql.Row], now: datetime | None) -> None:
    moved = [_move(event) for event in ordered]
    _tell(ordered, now)
    for state, chosen in (
        (_State.APPLIED, [e for e, up in zip(ordered, moved, strict=True) if up]),
        (_State.OUTRANKED, [e for e, up in zip(ordered, moved, strict=True) if not up]),
    ):
        sql.run(
            """
            UPDATE deliveries_providerevent event
            SET state = %(state)s, delivery_id = found.delivery_id
            FROM unnest(%(ids)s::bigint[], %(delivery_ids)s::bigint[]) AS found (id, delivery_id)
            WHERE event.id = found.id
            """,
            {
                "state": state,
                "ids": [event.id for event in chosen],
                "delivery_ids": [event.delivery_id for event in chosen],
            },
        )


def _move(event: sql.Row) -> bool:
    """Move the delivery to what the event says, if that is louder than what it says now.

    Of two equally loud ones the later counts, by the provider's clock: so the end is the same in
    whatever order they come.
    """
    statement = f"""
        UPDATE deliveries_delivery
        SET after_sending = %(outcome)s, after_sending_at = %(at)s, after_sending_reason = %(why)s
        WHERE id = %(id)s AND status = 'sent' AND (
            after_sending = ''
            OR ({RANK.format("after_sending")}, after_sending_at, after_sending_reason)
             < ({RANK.format("%(outcome)s")}, %(at)s::timestamptz, %(why)s::text)
        )
    """
    parameters = {
        "id": event.delivery_id,
        "outcome": event.outcome,
        "at": event.happened_at,
        "why": event.reason,
        "loudness": list(LOUDNESS),
    }
    # A row that was archived while we waited for it is gone from this statement's sight, but not
    # from the next one's.
    return bool(sql.run(statement, parameters) or sql.run(statement, parameters))


def _tell(events: Sequence[sql.Row], now: datetime | None) -> None:
    """Append each report to its delivery's timeline, but not what stands there already."""
    told = set(
        DeliveryEvent.objects.filter(
            delivery__in={event.delivery_id for event in events}, type__in=list(LOUDNESS)
        ).values_list("delivery_id", "type", "sentence")
    )
    new: list[sql.Row] = []
    for event in events:
        step = (event.delivery_id, event.outcome, _sentence(event))
        if step not in told:
            told.add(step)
            new.append(event)
    correlation_id = correlation.current_id()
    timeline.record_anywhere([_step(event, correlation_id) for event in new], now=now)
    for event in new:
        logger.info(
            "provider event applied",
            extra={
                # The click's, so that it is found with all else; the webhook's stands beside it.
                "correlation_id": event.correlation_id,
                "told_under": correlation_id,
                "delivery": event.delivery_id,
                "kind": event.kind,
                "invoice": event.reference,
                "outcome": event.outcome,
                "event": event.event_id,
            },
        )


def _sentence(event: sql.Row) -> str:
    """Return the reason in words; of an e-mail beside the delivery's own, also which it is."""
    words = sentence(event.outcome, event.reason)
    if event.provider_message_id in {"", event.beside}:
        return words
    return f"{words} It says so of {event.provider_message_id}, another e-mail than {event.beside}."


def _step(event: sql.Row, correlation_id: str) -> timeline.Event:
    return timeline.Event(
        delivery_id=event.delivery_id,
        type=DeliveryEvent.Type(event.outcome),
        sentence=_sentence(event),
        correlation_id=correlation_id,
        details={"event_id": event.event_id, "happened_at": event.happened_at.isoformat()},
    )
