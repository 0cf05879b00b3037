"""Promising a delivery, in the same transaction as the change that wants it."""

import logging
import uuid
from datetime import datetime
from typing import NamedTuple

from django.db import connection, models, transaction

from deliveries import correlation
from deliveries.kinds import Kind
from deliveries.ledger import fairness, lanes, sql, timeline, waking
from deliveries.models import Delivery, DeliveryEvent

logger = logging.getLogger(__name__)


class Requested(NamedTuple):
    delivery: Delivery
    created: bool


class _By(NamedTuple):
    """Whose click it is, and which request's."""

    actor_id: int | None
    correlation_id: str


def request(
    invoice: models.Model,
    *,
    kind: Kind,
    dedupe_key: str,
    reference: str,
    requested_by: int | None = None,
    reason: str = "",
    now: datetime | None = None,
) -> Requested:
    """Return the delivery of this intent, made now unless an earlier request made it.

    A `reason` is told in the timeline of the delivery that it makes.

    Joins the caller's transaction and insists on one: the promise must commit, or vanish, with
    the change that it belongs to. Requests for one key serialize on its unique constraint; if the
    first rolls back, the second makes the row.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError(
            "ledger.request must run in the transaction of the change that wants the delivery."
        )
    by = _By(requested_by, correlation.current_id())
    if _exists(dedupe_key) or not (
        created := _insert(invoice, kind, dedupe_key, reference, by, now)
    ):
        delivery = Delivery.objects.get(dedupe_key=dedupe_key)
        return _again(delivery, by, now)
    delivery = Delivery.objects.get(pk=created)
    timeline.record(
        [
            timeline.Event(
                delivery_id=delivery.pk,
                type=DeliveryEvent.Type.REQUESTED,
                sentence=f"Sending was requested: {reason}" if reason else "Sending was requested.",
                actor_id=by.actor_id,
                correlation_id=by.correlation_id,
            )
        ],
        now=now,
    )
    waking.wake(kind.lane)
    logger.info("delivery requested", extra=log_fields(delivery))
    return Requested(delivery, True)


def log_fields(delivery: Delivery) -> dict[str, object]:
    """Return what every log line about a delivery carries; the correlation id comes bound."""
    return {"delivery": delivery.pk, "kind": delivery.kind, "invoice": delivery.reference}


def new_idempotency_key() -> str:
    """Return a key that no other database, restored or second, has ever used."""
    return f"delivery-{uuid.uuid4()}"


def _exists(dedupe_key: str) -> bool:
    """Whether the key is taken, live or archived: one look into each unique index.

    A row that is moved meanwhile is in exactly one of them, whenever we look. One that is neither
    here nor there is younger than this statement, and no archiver takes it for a day at least: so
    the unique key that the insert minds, which is that of the live rows alone, is enough.
    """
    return Delivery.objects.filter(dedupe_key=dedupe_key).exists()


def _insert(
    invoice: models.Model,
    kind: Kind,
    dedupe_key: str,
    reference: str,
    by: _By,
    now: datetime | None,
) -> int | None:
    """Insert the row; return its id, or None if another request was first."""
    lanes.ensure(kind.lane)
    organization_id = invoice.organization_id  # type: ignore[attr-defined]
    [tag] = fairness.take_tags(
        lane=kind.lane, organization_id=organization_id, kind=kind.name, weight=kind.weight
    )
    row = sql.one(
        f"""
        INSERT INTO deliveries_delivery
            (organization_id, invoice_id, kind, lane, reference, dedupe_key, idempotency_key,
             status, claims, attempts, lease_token, fair_tag, correlation_id, requested_by_id,
             provider_message_id, last_error, dead_reason, created_at, waiting_since)
        VALUES (%(organization_id)s, %(invoice_id)s, %(kind)s, %(lane)s, %(reference)s,
                %(dedupe_key)s, %(idempotency_key)s, 'queued', 0, 0, 0, %(fair_tag)s,
                %(correlation_id)s, %(actor_id)s, '', '', '', {sql.NOW}, {sql.NOW})
        ON CONFLICT (dedupe_key) DO NOTHING
        RETURNING id
        """,
        {
            "organization_id": organization_id,
            "invoice_id": invoice.pk,
            "kind": kind.name,
            "lane": kind.lane,
            "reference": reference,
            "dedupe_key": dedupe_key,
            "idempotency_key": new_idempotency_key(),
            "fair_tag": tag,
            "now": now,
            **by._asdict(),
        },
    )
    return row.id if row else None


def _again(delivery: Delivery, by: _By, now: datetime | None) -> Requested:
    timeline.record_anywhere(
        [
            timeline.Event(
                delivery_id=delivery.pk,
                type=DeliveryEvent.Type.REQUESTED_AGAIN,
                sentence="Sending was requested again; it had been requested already.",
                actor_id=by.actor_id,
                correlation_id=by.correlation_id,
            )
        ],
        now=now,
    )
    logger.info(
        "delivery already requested",
        extra=log_fields(delivery) | {"first_correlation_id": delivery.correlation_id},
    )
    return Requested(delivery, False)
