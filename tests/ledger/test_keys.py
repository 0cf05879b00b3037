"""Which key and which bytes a replayed delivery goes out under: section 6 of the design."""

from dataclasses import replace as changed
from datetime import datetime

import pytest
from django.contrib.auth.models import User

from deliveries import ledger
from deliveries.errors import ConfirmationNeeded
from deliveries.models import Delivery, Message
from deliveries.outcomes import Dead
from tests import factories
from tests.ledger.steps import (
    KEY_LIFETIME,
    LEASE,
    REFUSED,
    RETRY,
    UNKNOWN,
    Reason,
    Status,
    at,
    bring_to,
    claim,
    claim_one,
    everything,
    fresh,
    hand_over,
    last_event,
    make_deliveries,
    replay,
    settle,
)

EXPIRED = at(0) + KEY_LIFETIME
UNANSWERED = Dead(reason=Reason.GAVE_UP, error="No answer.", may_have_accepted=True)
NEVER_CONNECTED = changed(UNANSWERED, may_have_accepted=False)


def let_die(outcome: Dead, *, handed_over: bool = True) -> None:
    """Let the one delivery there is die by that outcome, handed over at the very start."""
    held = claim_one()
    if handed_over:
        hand_over(held)
    settle(held, outcome, now=at(1))


@pytest.mark.parametrize(
    ("outcome", "handed_over", "confirmed", "now", "same"),
    [
        # Never handed over: composed anew, however late.
        (UNANSWERED, False, False, at(60), False),
        (UNANSWERED, False, False, EXPIRED, False),
        # A known refusal: composed anew from the corrected data, confirmed or not.
        (REFUSED, True, False, at(60), False),
        (REFUSED, True, True, EXPIRED, False),
        (NEVER_CONNECTED, True, False, EXPIRED, False),
        # The provider may have it and still knows the key: the same again, confirmed or not.
        (UNANSWERED, True, False, at(60), True),
        (UNANSWERED, True, True, at(60), True),
        (UNKNOWN, True, False, at(0) + KEY_LIFETIME * 0.999, True),
        # The provider may have it and has forgotten the key: a person has looked, so anew.
        (UNANSWERED, True, True, EXPIRED, False),
        (UNKNOWN, True, True, EXPIRED, False),
    ],
)
def test_a_replay_knows_which_case_it_is(
    delivery: Delivery,
    support: User,
    outcome: Dead,
    handed_over: bool,
    confirmed: bool,
    now: datetime,
    same: bool,
) -> None:
    let_die(outcome, handed_over=handed_over)
    replay(delivery, support.pk, confirmed=confirmed, now=now)
    after = fresh(delivery)
    assert (after.idempotency_key == delivery.idempotency_key) is same
    assert after.handed_over_at == (at(0) if same else None)
    assert Message.objects.filter(idempotency_key=after.idempotency_key).exists() is same
    assert last_event(delivery).details == {
        "same_message": same,
        "confirmed": confirmed,
        "batch_of": 1,
    }


@pytest.mark.parametrize("outcome", [UNANSWERED, UNKNOWN])
def test_an_expired_key_asks_a_person_first(
    delivery: Delivery, support: User, outcome: Dead
) -> None:
    let_die(outcome)
    before = everything()
    with pytest.raises(ConfirmationNeeded, match="the customer may have it already"):
        replay(delivery, support.pk, now=EXPIRED)
    assert everything() == before


def test_a_crash_may_have_reached_the_customer_too(delivery: Delivery, support: User) -> None:
    hand_over(claim_one())
    claim("worker-2", now=at(60), max_claims=1)
    with pytest.raises(ConfirmationNeeded):
        replay(delivery, support.pk, now=EXPIRED)
    replay(delivery, support.pk, now=at(61))
    assert fresh(delivery).idempotency_key == delivery.idempotency_key


def test_of_many_the_unconfirmed_are_skipped(delivery: Delivery, support: User) -> None:
    let_die(UNANSWERED)
    [refused] = make_deliveries(delivery.organization, 1)
    let_die(REFUSED)
    batch = ledger.replay_many(
        [delivery.pk, refused.pk],
        actor_id=support.pk,
        reason="r",
        key_lifetime=KEY_LIFETIME,
        now=EXPIRED,
    )
    assert batch.done == (refused.pk,)
    assert batch.skipped == {
        delivery.pk: "the customer may have it already, which must be confirmed"
    }


def test_under_a_new_key_the_corrected_message_goes_out(delivery: Delivery, support: User) -> None:
    let_die(REFUSED)
    replay(delivery, support.pk, now=at(60))
    hand_over(claim_one(now=at(60)), factories.make_message(to=["new@mamaput.example"]), now=at(60))
    first, second = Message.objects.order_by("pk")
    assert (first.to, second.to) == (["accounts@mamaput.example"], ["new@mamaput.example"])
    assert first.idempotency_key != second.idempotency_key == fresh(delivery).idempotency_key


def test_under_the_same_key_the_stored_message_goes_out(delivery: Delivery, support: User) -> None:
    let_die(UNANSWERED)
    replay(delivery, support.pk, now=at(60))
    stored = Message.objects.get()
    assert hand_over(claim_one(now=at(60)), now=at(60)) == stored
    assert Message.objects.get() == stored


def test_a_replay_does_not_make_the_key_live_longer(delivery: Delivery, support: User) -> None:
    let_die(UNANSWERED)
    replay(delivery, support.pk, now=at(hours=23))
    hand_over(claim_one(now=at(hours=23)), now=at(hours=23))
    assert fresh(delivery).handed_over_at == at(0)


def test_a_confirmed_replay_is_confirmed_once_not_for_ever(
    delivery: Delivery, support: User
) -> None:
    let_die(UNANSWERED)
    replay(delivery, support.pk, confirmed=True, now=EXPIRED)
    held = claim_one(now=EXPIRED)
    hand_over(held, now=EXPIRED)
    settle(held, UNANSWERED, now=EXPIRED)
    with pytest.raises(ConfirmationNeeded):
        replay(delivery, support.pk, now=EXPIRED + KEY_LIFETIME)


def test_every_retry_goes_out_under_the_same_key(delivery: Delivery) -> None:
    keys = set()
    for number in range(3):
        now = at(10 * number)
        ledger.wake_due("email", now=now)
        held = claim_one(now=now)
        hand_over(held, now=now)
        settle(held, RETRY, now=now)
        keys.add(held.idempotency_key)
    assert keys == {delivery.idempotency_key}
    assert Message.objects.count() == 1


def test_who_takes_over_uses_the_same_key_and_message(delivery: Delivery) -> None:
    stored = hand_over(claim_one("worker-1"))
    second = claim_one("worker-2", now=at(0) + LEASE)
    assert second.idempotency_key == delivery.idempotency_key
    assert hand_over(second, now=at(0) + LEASE) == stored


def test_lease_tokens_grow_through_every_replay(delivery: Delivery, support: User) -> None:
    tokens = []
    for _ in range(3):
        tokens.append(bring_to(delivery, Status.DEAD).token)
        replay(delivery, support.pk, now=at(1))
    assert tokens == [1, 2, 3]
