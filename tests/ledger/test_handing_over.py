from datetime import datetime, timedelta

import pytest
from django.db import connection

from deliveries import ledger
from deliveries.errors import LeaseLost, OutcomeUnknown
from deliveries.models import Delivery, Message
from tests import factories
from tests.ledger.steps import (
    KEY_LIFETIME,
    LEASE,
    NEEDS,
    RETRY,
    Status,
    at,
    bring_to,
    claim_one,
    columns,
    events,
    everything,
    fresh,
    hand_over,
    settle,
)


def retry_at(seconds: float, **length: float) -> ledger.Claim:
    """Let a first attempt fail without an answer, and claim the row again at that time."""
    first = claim_one()
    hand_over(first)
    settle(first, RETRY, now=at(1))
    ledger.wake_due("email", now=at(seconds, **length))
    return claim_one(now=at(seconds, **length))


def test_the_message_is_frozen_before_it_goes_out(delivery: Delivery) -> None:
    hand_over(claim_one(), factories.make_message(subject="Invoice INV-0001"), now=at(2))
    message = Message.objects.get()
    assert (message.delivery_id, message.subject) == (delivery.pk, "Invoice INV-0001")
    assert message.idempotency_key == delivery.idempotency_key
    assert message.attachments[0]["filename"] == "INV-0001.pdf"
    assert fresh(delivery).handed_over_at == at(2)


def test_handing_over_changes_nothing_else(delivery: Delivery) -> None:
    held = claim_one()
    names = ("status", "claims", "attempts", "lease_token", "locked_by", "locked_until")
    before, told = columns(delivery, *names), events(delivery)
    hand_over(held)
    assert columns(delivery, *names) == before
    assert events(delivery) == told


def test_a_retry_sends_the_stored_message(delivery: Delivery) -> None:
    again = retry_at(10)
    stored = Message.objects.get(idempotency_key=again.idempotency_key)
    assert hand_over(again, now=at(10)) == stored
    assert Message.objects.get() == stored


def test_the_first_hand_over_is_the_one_that_counts(delivery: Delivery) -> None:
    hand_over(retry_at(10), now=at(10))
    assert fresh(delivery).handed_over_at == at(0)


@pytest.mark.parametrize("status", sorted(set(Status.values) - {Status.RUNNING}))
def test_only_a_running_delivery_is_handed_over(delivery: Delivery, status: str) -> None:
    held = bring_to(delivery, status)
    before = everything()
    with pytest.raises(LeaseLost, match=f"Delivery {delivery.pk} was taken over"):
        hand_over(held)
    assert everything() == before


def test_a_stale_worker_cannot_hand_over(delivery: Delivery) -> None:
    stale = claim_one("worker-1")
    claim_one("worker-2", now=at(60))
    before = everything()
    with pytest.raises(LeaseLost):
        hand_over(stale, now=at(61))
    assert everything() == before


@pytest.mark.parametrize("now", [at(45) + timedelta(microseconds=1), at(59), at(60), at(hours=1)])
def test_too_little_of_a_lease_is_not_enough(delivery: Delivery, now: datetime) -> None:
    held = claim_one()
    before = everything()
    with pytest.raises(ledger.LeaseTooShort):
        hand_over(held, now=now)
    assert everything() == before


def test_just_enough_of_a_lease_is_enough(delivery: Delivery) -> None:
    hand_over(claim_one(), now=at(45))
    assert fresh(delivery).handed_over_at == at(45)


def test_a_key_is_used_while_the_provider_remembers_it(delivery: Delivery) -> None:
    just_before = KEY_LIFETIME - NEEDS - timedelta(seconds=1)
    held = retry_at(just_before.total_seconds())
    hand_over(held, now=at(0) + just_before)
    assert fresh(delivery).handed_over_at == at(0)


@pytest.mark.parametrize("left", [NEEDS, timedelta(0), -timedelta(days=3)])
def test_a_key_that_may_be_forgotten_meanwhile_is_not_used(
    delivery: Delivery, left: timedelta
) -> None:
    now = at(0) + KEY_LIFETIME - left
    held = retry_at((now - at(0)).total_seconds())
    before = everything()
    with pytest.raises(OutcomeUnknown, match="sending again could send it twice"):
        hand_over(held, now=now)
    assert everything() == before


def test_an_expired_key_is_told_even_when_the_lease_is_short(delivery: Delivery) -> None:
    held = retry_at(KEY_LIFETIME.total_seconds())
    with pytest.raises(OutcomeUnknown):
        hand_over(held, now=at(0) + KEY_LIFETIME + LEASE)


def test_a_delivery_never_handed_over_may_be_as_old_as_it_likes(delivery: Delivery) -> None:
    hand_over(claim_one(now=at(days=30)), now=at(days=30))
    assert fresh(delivery).handed_over_at == at(days=30)


@pytest.mark.usefixtures("transactional_db")
def test_the_hand_over_is_committed_before_the_first_byte_leaves(delivery: Delivery) -> None:
    hand_over(claim_one())
    assert not connection.in_atomic_block
    connection.close()  # What was not committed is gone now.
    assert fresh(delivery).handed_over_at == at(0)
    assert Message.objects.count() == 1
