"""After a restore: what went out after the backup must not go out again.

A restored database has queued what was sent since, and knows nothing of the replays since. Only
the provider's log can tell. What it does not tell is for a person, as everything unknown is.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import transaction

from deliveries import correlation
from deliveries.ledger import following_up, hooks, sql, timeline
from deliveries.models import Delivery, DeliveryEvent

logger = logging.getLogger(__name__)

AT_ONCE = 250


@dataclass(frozen=True, kw_only=True)
class SentLog:
    """What the provider says it has accepted since the backup."""

    # The provider's message ids, by our idempotency keys.
    ids: Mapping[str, str] = field(default_factory=dict)
    # Whether what is absent was certainly not sent.
    complete: bool = False
    # Correlation ids of messages under keys that this database does not know: a delivery that was
    # replayed after the backup went out under another key, but under its correlation id.
    strays: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """What a run has found so far."""

    sent: int = 0
    set_aside: int = 0
    # Dead before the backup: a replay of them asks for confirmation from now on.
    doubted: int = 0
    left: int = 0
    # Requested after `requested_until`, and not looked at.
    later: int = 0


@dataclass(frozen=True, kw_only=True)
class _Order:
    taken_at: datetime
    log: SentLog
    key_lifetime: timedelta
    now: datetime | None

    def verdict(self, row: sql.Row) -> str:
        """Return the field of `Reconciled` that this row counts in."""
        if self.message_id(row):
            return "sent"
        known_unsent = self.log.complete and row.correlation_id not in self.log.strays
        # What was recorded anew has a key and a request of its own: no log can name them. So what
        # is younger than the backup is said to be is for a person, as is what a snapshot holds
        # that was taken later than that.
        if known_unsent and row.created_at <= self.taken_at:
            return "left"
        if row.status != Delivery.Status.DEAD:
            return "set_aside"
        return "left" if row.asks_already else "doubted"

    def message_id(self, row: sql.Row) -> str:
        """Return the provider's id of the message under any key the delivery has had."""
        return next((self.log.ids[key] for key in row.keys if key in self.log.ids), "")


def reconcile(
    *,
    backup_taken_at: datetime,
    requested_until: datetime | None = None,
    log: SentLog | None = None,
    key_lifetime: timedelta,
    dry_run: bool = False,
    now: datetime | None = None,
) -> Iterator[Reconciled]:
    """Settle what the backup holds as waiting or dead by the provider's log; a few at a time.

    Run it before any worker: a transaction for each few. What was sent is recorded as sent; what a
    complete log does not hold stays as it is, if it is as old as the backup; all else, however
    young, is dead with an unknown outcome, and sent again only after somebody's confirmation.
    `requested_until` spares what was requested since the restored database went to work. Twice does
    no harm, nor do two at once: what is settled is passed over.
    """
    order = _Order(
        taken_at=backup_taken_at, log=log or SentLog(), key_lifetime=key_lifetime, now=now
    )
    counts: Counter[str] = Counter()
    after = 0
    while rows := _some(order, after, requested_until, dry_run=dry_run):
        counts.update(order.verdict(row) for row in rows)
        after = rows[-1].id
        yield Reconciled(**counts)
    if requested_until is not None:
        counts["later"] = sql.one(_LATER, {"until": requested_until}).rows
        yield Reconciled(**counts)
    if not dry_run:
        logger.info("reconciled after a restore", extra=dict(counts))


def _some(order: _Order, after: int, until: datetime | None, *, dry_run: bool) -> list[sql.Row]:
    parameters = {
        "after": after,
        "until": until,
        "key_lifetime": order.key_lifetime,
        "now": order.now,
        "at_once": AT_ONCE,
    }
    if dry_run:
        return sql.rows(_OPEN, parameters)
    with transaction.atomic():
        # Two runs at once take turns: else one would judge what it sees the other change.
        sql.rows("SELECT pg_advisory_xact_lock(hashtextextended('reconciling', 0))", {})
        rows = sql.rows(f"{_OPEN} FOR NO KEY UPDATE OF d", parameters)
        _record_sent([row for row in rows if order.verdict(row) == "sent"], order)
        _doubt([row for row in rows if order.verdict(row) in {"set_aside", "doubted"}], order)
    return rows


_OPEN = f"""
    SELECT d.id, d.status, d.correlation_id, d.created_at, ARRAY[d.idempotency_key::text] || ARRAY(
        SELECT m.idempotency_key::text FROM deliveries_message m
        WHERE m.delivery_id = d.id ORDER BY m.id DESC
    ) AS keys, coalesce(d.handed_over_at + %(key_lifetime)s <= {sql.NOW}, false) AS asks_already
    FROM ONLY deliveries_delivery d
    WHERE d.id > %(after)s AND (%(until)s::timestamptz IS NULL OR d.created_at <= %(until)s)
        AND d.status IN ('queued', 'running', 'retrying', 'dead')
    ORDER BY d.id LIMIT %(at_once)s
"""

_LATER = """
    SELECT count(*) AS rows FROM ONLY deliveries_delivery d
    WHERE d.created_at > %(until)s AND d.status IN ('queued', 'running', 'retrying', 'dead')
"""


def _record_sent(rows: Sequence[sql.Row], order: _Order) -> None:
    if not rows:
        return
    message_ids = {row.id: order.message_id(row) for row in rows}
    sql.run(
        f"""
        UPDATE ONLY deliveries_delivery d
        SET status = 'sent', provider_message_id = found.message_id, finished_at = {sql.NOW},
            handed_over_at = coalesce(d.handed_over_at, greatest(d.created_at, %(taken_at)s)),
            sent_at = coalesce(d.handed_over_at, greatest(d.created_at, %(taken_at)s)),
            locked_by = NULL, locked_until = NULL, next_attempt_at = NULL,
            dead_reason = '', last_error = ''
        FROM unnest(%(ids)s::bigint[], %(message_ids)s::text[]) AS found (id, message_id)
        WHERE d.id = found.id
        """,
        {
            "ids": list(message_ids),
            "message_ids": list(message_ids.values()),
            "taken_at": order.taken_at,
            "now": order.now,
        },
    )
    _tell(
        rows,
        DeliveryEvent.Type.SENT,
        lambda row: f"Found in the provider's log as {message_ids[row.id]}, after a restore.",
        order,
    )
    following_up.catch_up(message_ids.values(), now=order.now)
    hooks.settled(list(message_ids))


def _doubt(rows: Sequence[sql.Row], order: _Order) -> None:
    """Let what may have been sent since the backup be sent again only after a confirmation.

    Also where the provider still remembers its key: it may have gone out under another since, by
    a replay of which this database knows nothing. So its key counts as forgotten.
    """
    if not rows:
        return
    when = f"{order.taken_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    why = f"The database was restored from a backup of {when}; it may have been sent since."
    sql.run(
        f"""
        UPDATE ONLY deliveries_delivery
        SET handed_over_at = least(
                coalesce(handed_over_at, %(taken_at)s), {sql.NOW} - %(key_lifetime)s
            ),
            dead_reason = CASE status WHEN 'dead' THEN dead_reason ELSE 'outcome_unknown' END,
            last_error = CASE status WHEN 'dead' THEN last_error ELSE %(why)s END,
            finished_at = CASE status WHEN 'dead' THEN finished_at ELSE {sql.NOW} END,
            status = 'dead', locked_by = NULL, locked_until = NULL, next_attempt_at = NULL
        WHERE id = ANY(%(ids)s)
        """,
        {
            "ids": [row.id for row in rows],
            "why": why,
            "taken_at": order.taken_at,
            "key_lifetime": order.key_lifetime,
            "now": order.now,
        },
    )
    died = [row for row in rows if row.status != Delivery.Status.DEAD]
    _tell(died, DeliveryEvent.Type.DIED, lambda row: why, order)
    dead_before = [row for row in rows if row.status == Delivery.Status.DEAD]
    _tell(dead_before, DeliveryEvent.Type.NOTED, lambda row: why, order)
    hooks.settled([row.id for row in died])


def _tell(
    rows: Sequence[sql.Row],
    type_: DeliveryEvent.Type,
    sentence: Callable[[sql.Row], str],
    order: _Order,
) -> None:
    died = type_ is DeliveryEvent.Type.DIED
    timeline.record(
        [
            timeline.Event(
                delivery_id=row.id,
                type=type_,
                sentence=sentence(row),
                correlation_id=correlation.current_id(),
                details={"restored": True} | ({"dead_reason": "outcome_unknown"} if died else {}),
            )
            for row in rows
        ],
        now=order.now,
    )
