"""A person has found in the provider's log that it was sent after all."""

import logging
from datetime import datetime

from django.db import transaction

from deliveries import correlation
from deliveries.errors import WrongState
from deliveries.ledger import following_up, hooks, sql, timeline
from deliveries.models import DeliveryEvent

logger = logging.getLogger(__name__)


def vouch(
    delivery_id: int,
    *,
    provider_message_id: str,
    actor_id: int,
    reason: str,
    now: datetime | None = None,
) -> None:
    """Record a dead delivery that the provider may have accepted as sent; one transaction.

    It counts as sent since it was handed over. Raise `WrongState` if it is not dead, or if the
    provider certainly does not have it.
    """
    with transaction.atomic():
        vouched = sql.one(
            f"""
            UPDATE ONLY deliveries_delivery
            SET status = 'sent', provider_message_id = %(provider_message_id)s,
                sent_at = handed_over_at, finished_at = {sql.NOW}, dead_reason = '', last_error = ''
            WHERE id = %(id)s AND status = 'dead' AND handed_over_at IS NOT NULL
            RETURNING correlation_id, reference
            """,
            {"id": delivery_id, "provider_message_id": provider_message_id, "now": now},
        )
        if vouched is None:
            raise WrongState("Not recorded: it is not dead, or the provider never had it.")
        timeline.record(
            [
                timeline.Event(
                    delivery_id=delivery_id,
                    type=DeliveryEvent.Type.SENT,
                    sentence=f"Found in the provider's log as {provider_message_id}: {reason}",
                    actor_id=actor_id,
                    correlation_id=correlation.current_id(),
                    details={"vouched": True},
                )
            ],
            now=now,
        )
        following_up.catch_up([provider_message_id], now=now)
        hooks.settled([delivery_id])
    logger.info(
        "delivery vouched for",
        extra={"delivery": delivery_id, "invoice": vouched.reference, "actor": actor_id},
    )
