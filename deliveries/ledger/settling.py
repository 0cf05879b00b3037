"""Recording what attempts came to. Only the holder of a lease may."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import DataError, IntegrityError, transaction

from deliveries.errors import LeaseLost
from deliveries.ledger import following_up, hooks, mailboxes, sql, timeline
from deliveries.ledger.claiming import Claim
from deliveries.models import Delivery, DeliveryEvent
from deliveries.outcomes import Cancelled, Dead, Outcome, PutBack, RetryLater, Sent

logger = logging.getLogger(__name__)

_Type = DeliveryEvent.Type

_ID_LENGTH = 255
# In the time of the fair queue: a newcomer of any flow, and one more, stand before it.
_BEHIND = 1.5


@dataclass(frozen=True, kw_only=True)
class _Change:
    """One outcome as columns: what the batched UPDATE sets."""

    status: Delivery.Status
    # An outcome charges the error budget and clears the crash budget; putting back does neither.
    counted: bool = True
    provider_message_id: str = ""
    error: str = ""
    dead_reason: str = ""
    delay: timedelta = timedelta(0)
    # The provider certainly does not have it: a replay may compose anew under a new key.
    not_accepted: bool = False
    # A turn of everybody's goes first.
    behind: bool = False


def settle(claim: Claim, outcome: Outcome, *, worker: str, now: datetime | None = None) -> None:
    """Record one outcome; one transaction. Raise `LeaseLost`, and write nothing, if not ours."""
    if _record([(claim, outcome)], worker, now):
        raise LeaseLost(f"Delivery {claim.delivery_id} is no longer leased under {claim.token}.")


def release(
    claims: Sequence[Claim], *, why: str, worker: str, now: datetime | None = None
) -> list[Claim]:
    """Put leased rows that were not started back, unburned; return those that were lost."""
    return settle_batch([(claim, PutBack(why=why)) for claim in claims], worker=worker, now=now)


def settle_batch(
    settlements: Sequence[tuple[Claim, Outcome]], *, worker: str, now: datetime | None = None
) -> list[Claim]:
    """Record many outcomes in one transaction; return the claims that were not recorded.

    They are those whose lease was lost. A lease that ran out but that nobody took since still
    settles: the token proves that no other worker has touched the row. An outcome that cannot be
    stored is among them too: it is left to its lease, and holds up no other.
    """
    if not settlements:
        return []
    try:
        return _record(settlements, worker, now)
    except (DataError, IntegrityError):
        if len(settlements) == 1:
            [(claim, _)] = settlements
            logger.exception("outcome cannot be recorded", extra=claim.log_fields)
            return [claim]
    one_by_one = sorted(settlements, key=lambda settlement: settlement[0].delivery_id)
    return [lost for each in one_by_one for lost in settle_batch([each], worker=worker, now=now)]


def _record(
    settlements: Sequence[tuple[Claim, Outcome]], worker: str, now: datetime | None
) -> list[Claim]:
    """Record the outcomes in one transaction; return the claims whose lease was lost."""
    with transaction.atomic():
        rows = sql.rows(_SETTLE, _columns(settlements, now))
        settled = {(row.id, row.token): row for row in rows}
        held = [(c, o, settled[c.lease]) for c, o in settlements if c.lease in settled]
        timeline.record([_event(c, o, row.attempts, worker) for c, o, row in held], now=now)
        sent = [row.provider_message_id for row in rows if row.status == Delivery.Status.SENT]
        _catch_up(sent, [_judged(c, o) for c, o, _row in held], now)
        hooks.settled([row.id for row in rows if row.status in Delivery.FINAL])
    for claim, outcome, row in held:
        _log(claim, outcome, row, worker)
    lost = [claim for claim, _ in settlements if claim.lease not in settled]
    for claim in lost:
        logger.warning(
            "outcome not recorded: lease lost", extra={**claim.log_fields, "worker": worker}
        )
    return lost


def _catch_up(
    sent: Sequence[str], judged: Sequence[mailboxes.Judged], now: datetime | None
) -> None:
    """Follow what was reported before; what cannot be followed must not undo the record."""
    if not hooks.undoing_nothing(
        lambda: following_up.catch_up(sent, judged, now=now),
        otherwise="reports could not be followed; they are tried again",
    ):
        hooks.undoing_nothing(
            lambda: mailboxes.note([], judged, now=now), otherwise="mailboxes could not be noted"
        )


def _judged(claim: Claim, outcome: Outcome) -> mailboxes.Judged:
    return mailboxes.Judged(
        delivery_id=claim.delivery_id,
        refused=outcome.refused if isinstance(outcome, Dead) else {},
        took_all=isinstance(outcome, Sent) and outcome.took_recipients,
    )


# A batch may hold two outcomes for one row, of which one is stale: a worker that lost a lease can
# have taken the row again itself. So each change is found by id and token throughout.
_SETTLE = f"""
    WITH change AS (
        SELECT * FROM unnest(
            %(ids)s::bigint[], %(tokens)s::bigint[], %(statuses)s::text[], %(counted)s::bool[],
            %(provider_message_ids)s::text[], %(errors)s::text[], %(dead_reasons)s::text[],
            %(delays)s::interval[], %(not_accepted)s::bool[], %(behind)s::bool[]
        ) AS change (id, token, status, counted, provider_message_id, error, dead_reason, delay,
                     not_accepted, behind)
    ), mine AS (
        SELECT d.id, d.lease_token AS token FROM ONLY deliveries_delivery d
        JOIN change ON d.id = change.id AND d.lease_token = change.token
        WHERE d.status = 'running' ORDER BY d.id FOR NO KEY UPDATE OF d
    )
    UPDATE ONLY deliveries_delivery d
    SET status = change.status,
        attempts = d.attempts + change.counted::int,
        claims = CASE WHEN change.counted THEN 0 ELSE greatest(d.claims - 1, 0) END,
        locked_by = NULL,
        locked_until = NULL,
        next_attempt_at = CASE WHEN change.status = 'retrying' THEN {sql.NOW} + change.delay END,
        provider_message_id = change.provider_message_id,
        last_error = CASE WHEN change.counted THEN change.error ELSE d.last_error END,
        dead_reason = change.dead_reason,
        handed_over_at = CASE WHEN NOT change.not_accepted THEN d.handed_over_at END,
        fair_tag = CASE WHEN change.behind THEN (
                SELECT greatest(d.fair_tag, lane.virtual_time) + {_BEHIND}
                FROM deliveries_lane lane WHERE lane.name = d.lane
            ) ELSE d.fair_tag END,
        sent_at = CASE WHEN change.status = 'sent' THEN {sql.NOW} END,
        finished_at = CASE WHEN change.status IN ('sent', 'dead', 'cancelled') THEN {sql.NOW} END
    FROM mine, change
    WHERE d.id = mine.id AND change.id = mine.id AND change.token = mine.token
    RETURNING d.id, mine.token, d.status, d.attempts, d.next_attempt_at, d.provider_message_id
"""


def _change(outcome: Outcome) -> _Change:
    match outcome:
        case Sent():
            return _Change(
                status=Delivery.Status.SENT,
                provider_message_id=outcome.provider_message_id[:_ID_LENGTH],
            )
        case RetryLater():
            return _Change(
                status=Delivery.Status.RETRYING,
                error=outcome.error,
                delay=outcome.delay,
                not_accepted=not outcome.may_have_accepted,
            )
        case Dead():
            return _Change(
                status=Delivery.Status.DEAD,
                error=outcome.error or outcome.reason.label,
                dead_reason=outcome.reason,
                not_accepted=not outcome.may_have_accepted,
            )
        case Cancelled():
            return _Change(status=Delivery.Status.CANCELLED, error=outcome.why)
        case PutBack():
            return _Change(
                status=Delivery.Status.QUEUED,
                counted=False,
                not_accepted=not outcome.may_have_accepted,
                behind=outcome.blames_lane,
            )


def _columns(
    settlements: Sequence[tuple[Claim, Outcome]], now: datetime | None
) -> dict[str, object]:
    changes = [_change(outcome) for _, outcome in settlements]
    return {
        "now": now,
        "ids": [claim.delivery_id for claim, _ in settlements],
        "tokens": [claim.token for claim, _ in settlements],
        "statuses": [change.status.value for change in changes],
        "counted": [change.counted for change in changes],
        "provider_message_ids": [sql.storable(change.provider_message_id) for change in changes],
        "errors": [sql.storable(change.error) for change in changes],
        "dead_reasons": [change.dead_reason for change in changes],
        "delays": [change.delay for change in changes],
        "not_accepted": [change.not_accepted for change in changes],
        "behind": [change.behind for change in changes],
    }


def _event(claim: Claim, outcome: Outcome, attempts: int, worker: str) -> timeline.Event:
    type_, sentence, details = _told(outcome, attempts)
    return timeline.Event(
        delivery_id=claim.delivery_id,
        type=type_,
        sentence=sentence,
        attempt=None if isinstance(outcome, Cancelled | PutBack) else attempts,
        worker=worker,
        correlation_id=claim.correlation_id,
        details=details,
    )


def _told(outcome: Outcome, attempts: int) -> tuple[DeliveryEvent.Type, str, dict[str, object]]:
    """Return the step of the timeline that tells of the outcome: type, sentence, details."""
    match outcome:
        case Sent():
            sentence = f"The provider accepted it as {outcome.provider_message_id}."
            if outcome.replayed:
                sentence += " It had accepted the same message before; no second one was sent."
            return _Type.SENT, sentence, {"replayed": outcome.replayed}
        case RetryLater():
            details = {"retry_in_seconds": outcome.delay.total_seconds(), **outcome.details}
            return _Type.ATTEMPT_FAILED, f"Attempt {attempts} failed: {outcome.error}", details
        case Dead():
            details = {"dead_reason": outcome.reason.value, **outcome.details}
            return _Type.DIED, outcome.error, details
        case Cancelled():
            return _Type.CANCELLED, outcome.why, {}
        case PutBack():
            details = {"blames_lane": True} if outcome.blames_lane else {}
            return _Type.RELEASED, f"Put back: {outcome.why}", details


def _log(claim: Claim, outcome: Outcome, row: sql.Row, worker: str) -> None:
    fields = {**claim.log_fields, "worker": worker, "attempt": row.attempts}
    match outcome:
        case Sent():
            logger.info(
                "delivery sent",
                extra={
                    **fields,
                    "provider_message_id": outcome.provider_message_id,
                    "replayed": outcome.replayed,
                },
            )
        case RetryLater():
            logger.warning(
                "attempt failed", extra={**fields, "next_attempt_at": row.next_attempt_at}
            )
        case Dead():
            logger.error("delivery dead", extra={**fields, "dead_reason": outcome.reason.value})
        case Cancelled():
            logger.info("delivery cancelled", extra=fields)
        case PutBack():
            # Not why: the provider's words may name the customer. They are in the timeline.
            logger.info("delivery put back", extra=fields)
