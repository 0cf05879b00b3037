"""The last step before the network: the message frozen, the lease long enough, the key alive."""

from datetime import datetime, timedelta

from django.db import transaction

from deliveries.errors import DeliveryError, LeaseLost, OutcomeUnknown
from deliveries.ledger import sql
from deliveries.ledger.claiming import Claim
from deliveries.models import Message


class LeaseTooShort(DeliveryError):
    """What is left of the lease may not outlast the exchange; give the row back instead."""


def begin_hand_over(
    claim: Claim,
    message: Message,
    *,
    needs: timedelta,
    key_lifetime: timedelta,
    now: datetime | None = None,
) -> None:
    """Store the message if it is new, and note that the provider may have it from now on.

    One transaction, that must commit before the first byte leaves. Raise `LeaseLost`;
    `LeaseTooShort` with less than `needs` left; `OutcomeUnknown` if the provider may have
    accepted this key before and forgets it within `needs`.
    """
    with transaction.atomic():
        row = sql.one(
            f"""
            SELECT locked_until < {sql.NOW} + %(needs)s AS too_short,
                   handed_over_at + %(key_lifetime)s <= {sql.NOW} + %(needs)s AS key_expired
            FROM ONLY deliveries_delivery
            WHERE id = %(id)s AND lease_token = %(token)s AND status = 'running'
            FOR NO KEY UPDATE
            """,
            _parameters(claim, now) | {"needs": needs, "key_lifetime": key_lifetime},
        )
        if row is None:
            raise LeaseLost(
                f"Delivery {claim.delivery_id} was taken over before it was handed over."
            )
        if row.key_expired:
            raise OutcomeUnknown(
                "An earlier attempt may have reached the provider, and it has forgotten our key "
                "since: sending again could send it twice."
            )
        if row.too_short:
            raise LeaseTooShort("too little of the lease was left")
        if message._state.adding:
            message.delivery_id = claim.delivery_id
            message.idempotency_key = claim.idempotency_key
            message.save(force_insert=True)
        sql.run(
            f"""
            UPDATE ONLY deliveries_delivery SET handed_over_at = coalesce(handed_over_at, {sql.NOW})
            WHERE id = %(id)s AND lease_token = %(token)s AND status = 'running'
            """,
            _parameters(claim, now),
        )


def _parameters(claim: Claim, now: datetime | None) -> dict[str, object]:
    return {"id": claim.delivery_id, "token": claim.token, "now": now}
