"""Telling a delivery's timeline that what it says was corrected."""

import logging
from collections.abc import Iterable
from datetime import datetime

from deliveries import correlation
from deliveries.ledger import timeline
from deliveries.models import Delivery, DeliveryEvent

logger = logging.getLogger(__name__)

# A customer with a year of dead reminders: the newest tell the story.
MOST = 1_000


def note_correction(
    invoice_ids: Iterable[int],
    *,
    sentence: str,
    actor_id: int | None,
    now: datetime | None = None,
) -> int:
    """Append the correction to deliveries that wait or are dead; return how many.

    Joins the caller's transaction. Those that were sent, run or were cancelled are left alone: the
    correction is no part of what they sent.
    """
    open_ids = list(
        Delivery.objects.filter(
            invoice__in=list(invoice_ids), status__in=[*Delivery.WAITING, Delivery.Status.DEAD]
        )
        .order_by("-id")
        .values_list("pk", flat=True)[:MOST]
    )
    correlation_id = correlation.current_id()
    timeline.record(
        [
            timeline.Event(
                delivery_id=delivery_id,
                type=DeliveryEvent.Type.CORRECTED,
                sentence=sentence,
                actor_id=actor_id,
                correlation_id=correlation_id,
            )
            for delivery_id in sorted(open_ids)
        ],
        now=now,
    )
    if open_ids:
        logger.info(
            "correction noted",
            extra={"count": len(open_ids), "actor": actor_id, "correlation_id": correlation_id},
        )
    return len(open_ids)
