"""Whatever a provider or a traceback says, it neither stays unrecorded nor holds up others."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from deliveries import ledger
from deliveries.models import Delivery, Lane
from deliveries.outcomes import Cancelled, Outcome, PutBack, Sent
from invoices.models import Organization
from tests.ledger.steps import (
    REFUSED,
    RETRY,
    SENT,
    Status,
    at,
    bring_to,
    claim,
    claim_one,
    events,
    fresh,
    last_event,
    make_deliveries,
    settle,
)

NUL, SURROGATE = "no\x00mailbox", "no\udcffmailbox"
NESTED: dict[str, object] = {
    "answer": [{"no\x00": "mail\x00box"}, "\ud800"],
    "repr": r"a literal \u0000 and \x00",
}

STORABLE = {
    "NUL in an error": replace(RETRY, error=NUL),
    "NUL in a dead letter": replace(REFUSED, error=NUL),
    "NUL in a reason": Cancelled(why=NUL),
    "NUL in what was put back": PutBack(why=NUL),
    "NUL in an id": Sent(provider_message_id=NUL),
    "half a character in an error": replace(RETRY, error=SURROGATE),
    "half a character in an id": Sent(provider_message_id=SURROGATE),
    "odd details": replace(RETRY, details=NESTED),
    "details that are no JSON": replace(RETRY, details={"error": ValueError("x"), "of": {1, 2}}),
    "overlong id": Sent(provider_message_id="m" * 256),
    "overlong error": replace(REFUSED, error="e" * 1_000_000),
    "dead without a word": replace(REFUSED, error=""),
}
UNSTORABLE = {
    "sent without an id": Sent(provider_message_id=""),
    "a delay past the end of time": replace(RETRY, delay=timedelta(days=999_999_999)),
}


def settle_among_others(organization: Organization, outcome: Outcome) -> Delivery:
    """Settle that outcome in a batch with two good ones; return its delivery."""
    before, poisoned, after = make_deliveries(organization, 3)
    first, second, third = claim()
    others = (first, replace(SENT, provider_message_id="msg-1")), (third, SENT)
    ledger.settle_batch([others[0], (second, outcome), others[1]], worker="worker-1", now=at(1))
    assert [fresh(each).status for each in (before, after)] == [Status.SENT] * 2
    assert [fresh(each).provider_message_id for each in (before, after)] == ["msg-1", "msg-41"]
    return fresh(poisoned)


@pytest.mark.parametrize("outcome", STORABLE.values(), ids=STORABLE)
def test_an_odd_outcome_is_recorded_beside_the_others(
    organization: Organization, outcome: Outcome
) -> None:
    poisoned = settle_among_others(organization, outcome)
    assert poisoned.status != Status.RUNNING
    assert len(events(poisoned)) == 2


@pytest.mark.parametrize("outcome", UNSTORABLE.values(), ids=UNSTORABLE)
def test_what_cannot_be_recorded_holds_up_no_other(
    organization: Organization, outcome: Outcome
) -> None:
    poisoned = settle_among_others(organization, outcome)
    assert poisoned.status == Status.RUNNING
    assert len(events(poisoned)) == 1
    assert claim_one("worker-2", now=at(60)).delivery_id == poisoned.pk


@pytest.mark.parametrize("outcome", UNSTORABLE.values(), ids=UNSTORABLE)
def test_what_cannot_be_recorded_is_among_the_unrecorded(
    delivery: Delivery, outcome: Outcome, caplog: pytest.LogCaptureFixture
) -> None:
    held = claim_one()
    assert ledger.settle_batch([(held, outcome)], worker="worker-1", now=at(1)) == [held]
    assert "outcome cannot be recorded" in caplog.text


def test_the_words_stay_as_readable_as_can_be(delivery: Delivery) -> None:
    settle(claim_one(), replace(RETRY, error=NUL, details=NESTED))
    assert fresh(delivery).last_error == "no�mailbox"
    assert last_event(delivery).sentence == "Attempt 1 failed: no�mailbox"
    assert last_event(delivery).details == {
        "retry_in_seconds": 5.0,
        "answer": [{"no�": "mail�box"}, "�"],
        "repr": r"a literal \u0000 and \x00",
    }


def test_an_overlong_id_is_kept_as_far_as_it_goes(delivery: Delivery) -> None:
    settle(claim_one(), Sent(provider_message_id="m" * 300))
    assert fresh(delivery).provider_message_id == "m" * 255
    assert "m" * 300 in last_event(delivery).sentence


def test_a_dead_letter_always_has_something_to_say(delivery: Delivery) -> None:
    settle(claim_one(), replace(REFUSED, error=""))
    assert fresh(delivery).last_error == "The provider refused it"


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (NUL, "no�mailbox"),
        (SURROGATE, "no�mailbox"),
        ("", "No reason was given."),
        ("r" * 999, "r" * 500),
    ],
)
def test_a_lane_pauses_whatever_the_provider_says(db: None, reason: str, shown: str) -> None:
    ledger.pause("email", reason=reason, for_=timedelta(seconds=5), now=at(0))
    assert Lane.objects.get().paused_reason == shown


@pytest.mark.parametrize("words", [NUL, SURROGATE])
def test_a_persons_odd_words_are_recorded(delivery: Delivery, support: User, words: str) -> None:
    bring_to(delivery, Status.DEAD)
    ledger.replay(
        delivery.pk, actor_id=support.pk, reason=words, key_lifetime=timedelta(hours=24), now=at(1)
    )
    assert last_event(delivery).sentence == "Put back to be sent again: no�mailbox"
    ledger.cancel(delivery.pk, actor_id=support.pk, why=words, now=at(2))
    assert fresh(delivery).last_error == last_event(delivery).sentence == "no�mailbox"
