from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from deliveries import ledger
from deliveries.errors import LeaseLost
from deliveries.models import Delivery
from deliveries.outcomes import Dead, Outcome, PutBack, RetryLater, Sent
from invoices.models import Invoice, Organization
from tests.ledger.steps import (
    PUT_BACK,
    REFUSED,
    RETRY,
    SENT,
    UNKNOWN,
    VOIDED,
    Reason,
    Status,
    Type,
    at,
    bring_to,
    claim,
    claim_one,
    columns,
    everything,
    fresh,
    hand_over,
    invoice_of,
    last_event,
    make_deliveries,
    settle,
)

FINAL_COLUMNS = {
    "locked_by": None,
    "locked_until": None,
    "next_attempt_at": None,
    "claims": 0,
    "attempts": 1,
}


def test_sent_is_recorded_with_the_providers_id(delivery: Delivery) -> None:
    settle(claim_one(), SENT, now=at(3))
    expected = FINAL_COLUMNS | {
        "status": Status.SENT,
        "provider_message_id": "msg-41",
        "sent_at": at(3),
        "finished_at": at(3),
        "last_error": "",
        "dead_reason": "",
    }
    assert columns(delivery, *expected) == expected


def test_a_temporary_failure_is_retried_after_its_delay(delivery: Delivery) -> None:
    settle(claim_one(), RETRY, now=at(3))
    expected = FINAL_COLUMNS | {
        "status": Status.RETRYING,
        "next_attempt_at": at(8),
        "last_error": "The provider answered 503: (nothing)",
        "finished_at": None,
        "sent_at": None,
    }
    assert columns(delivery, *expected) == expected


@pytest.mark.parametrize("reason", Reason)
def test_a_dead_letter_has_its_reason_and_its_error(delivery: Delivery, reason: Reason) -> None:
    settle(claim_one(), Dead(reason=reason, error="It is so.", may_have_accepted=True), now=at(3))
    expected = FINAL_COLUMNS | {
        "status": Status.DEAD,
        "dead_reason": reason.value,
        "last_error": "It is so.",
        "finished_at": at(3),
        "sent_at": None,
        "provider_message_id": "",
    }
    assert columns(delivery, *expected) == expected


def test_what_is_no_longer_wanted_is_cancelled(delivery: Delivery) -> None:
    settle(claim_one(), VOIDED, now=at(3))
    expected = FINAL_COLUMNS | {
        "status": Status.CANCELLED,
        "finished_at": at(3),
        "last_error": "Not sent: INV-0001 was voided.",
        "dead_reason": "",
    }
    assert columns(delivery, *expected) == expected


def test_what_is_put_back_costs_neither_budget(delivery: Delivery) -> None:
    settle(claim_one(), PUT_BACK, now=at(3))
    expected = FINAL_COLUMNS | {
        "status": Status.QUEUED,
        "attempts": 0,
        "lease_token": 1,
        "finished_at": None,
        "last_error": "",
    }
    assert columns(delivery, *expected) == expected


def test_putting_back_keeps_the_last_attempts_error(delivery: Delivery) -> None:
    settle(claim_one(), RETRY)
    ledger.wake_due("email", now=at(5))
    settle(claim_one(now=at(5)), PUT_BACK, now=at(6))
    assert columns(delivery, "attempts", "last_error") == {
        "attempts": 1,
        "last_error": "The provider answered 503: (nothing)",
    }


def test_every_outcome_counts_as_one_attempt(delivery: Delivery) -> None:
    for number in range(1, 4):
        now = at(60 * number)
        settle(claim_one(now=now), RETRY, now=now)
        assert fresh(delivery).attempts == number
        assert last_event(delivery).attempt == number
        ledger.wake_due("email", now=at(60 * number + 5))


@pytest.mark.parametrize(
    ("outcome", "type_", "attempt", "sentence", "details"),
    [
        (SENT, Type.SENT, 1, "The provider accepted it as msg-41.", {"replayed": False}),
        (
            replace(SENT, replayed=True),
            Type.SENT,
            1,
            (
                "The provider accepted it as msg-41. It had accepted the same message before; "
                "no second one was sent."
            ),
            {"replayed": True},
        ),
        (
            replace(RETRY, details={"traceback": "…"}),
            Type.ATTEMPT_FAILED,
            1,
            "Attempt 1 failed: The provider answered 503: (nothing)",
            {"retry_in_seconds": 5.0, "traceback": "…"},
        ),
        (
            REFUSED,
            Type.DIED,
            1,
            "The provider refused it (422): no such mailbox",
            {"dead_reason": "rejected"},
        ),
        (VOIDED, Type.CANCELLED, None, "Not sent: INV-0001 was voided.", {}),
        (PUT_BACK, Type.RELEASED, None, "Put back: the lane is paused", {}),
    ],
)
def test_each_outcome_is_told_in_the_timeline(
    delivery: Delivery,
    outcome: Outcome,
    type_: Type,
    attempt: int | None,
    sentence: str,
    details: dict[str, Any],
) -> None:
    settle(claim_one(), outcome, worker="worker-1", now=at(3))
    event = last_event(delivery)
    assert (event.type, event.sentence, event.details) == (type_, sentence, details)
    assert (event.attempt, event.worker, event.at) == (attempt, "worker-1", at(3))
    assert event.correlation_id == delivery.correlation_id
    assert event.actor_id is None


@pytest.mark.parametrize(
    ("outcome", "status", "reason"),
    [
        (SENT, "sent", ""),
        (RETRY, "sending", ""),
        (REFUSED, "failed", "The provider refused it (422): no such mailbox"),
        (VOIDED, "failed", "Not sent: INV-0001 was voided."),
        (PUT_BACK, "sending", ""),
    ],
)
def test_the_invoice_follows_its_delivery(
    delivery: Delivery, outcome: Outcome, status: str, reason: str
) -> None:
    settle(claim_one(), outcome, now=at(3))
    invoice = invoice_of(delivery)
    assert (invoice.status, invoice.failure_reason) == (status, reason)
    assert invoice.sent_at == (at(3) if status == "sent" else None)


@pytest.mark.parametrize("status", ["paid", "void"])
@pytest.mark.parametrize("outcome", [SENT, REFUSED])
def test_an_invoice_that_went_further_stays_there(
    delivery: Delivery, outcome: Outcome, status: str
) -> None:
    Invoice.objects.filter(pk=delivery.invoice_id).update(status=status)
    settle(claim_one(), outcome)
    assert invoice_of(delivery).status == status


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [
        (SENT, True),
        (VOIDED, True),
        (REFUSED, False),
        (UNKNOWN, True),
        (RETRY, True),
        (replace(RETRY, may_have_accepted=False), False),
        (PUT_BACK, True),
        (PutBack(why="throttled", may_have_accepted=False), False),
    ],
)
def test_only_a_known_refusal_clears_that_the_provider_may_have_it(
    delivery: Delivery, outcome: Outcome, kept: bool
) -> None:
    held = claim_one()
    hand_over(held, now=at(1))
    settle(held, outcome, now=at(3))
    assert fresh(delivery).handed_over_at == (at(1) if kept else None)


OUTCOMES = [SENT, RETRY, REFUSED, VOIDED, PUT_BACK]


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("status", sorted(set(Status.values) - {Status.RUNNING}))
def test_only_a_running_delivery_is_settled(
    delivery: Delivery, status: str, outcome: Outcome
) -> None:
    settled = bring_to(delivery, status)
    before = everything()
    with pytest.raises(LeaseLost, match=f"Delivery {delivery.pk} is no longer leased under 1"):
        settle(settled, outcome)
    assert everything() == before


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_stale_lease_cannot_settle_a_delivery(delivery: Delivery, outcome: Outcome) -> None:
    stale = claim_one("worker-1")
    claim_one("worker-2", now=at(60))
    before = everything()
    with pytest.raises(LeaseLost):
        settle(stale, outcome, now=at(61))
    assert everything() == before


def test_a_lease_that_ran_out_settles_if_nobody_took_it(delivery: Delivery) -> None:
    settle(claim_one(), SENT, now=at(hours=3))
    assert fresh(delivery).status == Status.SENT


def test_a_batch_settles_what_it_holds_and_names_what_it_lost(organization: Organization) -> None:
    lost, sent, retried = make_deliveries(organization, 3)
    stale = claim(capacity=3)
    claim("worker-2", capacity=1, now=at(60))
    outcomes: list[Outcome] = [SENT, replace(SENT, provider_message_id="msg-42"), RETRY]
    assert ledger.settle_batch(
        list(zip(stale, outcomes, strict=True)), worker="worker-1", now=at(61)
    ) == [stale[0]]
    assert [fresh(each).status for each in (lost, sent, retried)] == [
        Status.RUNNING,
        Status.SENT,
        Status.RETRYING,
    ]
    assert fresh(sent).provider_message_id == "msg-42"
    assert last_event(lost).type == Type.LEASE_LOST


@pytest.mark.parametrize("turn", [1, -1])
def test_a_worker_that_took_over_from_itself_settles_by_its_new_lease_alone(
    delivery: Delivery, turn: int
) -> None:
    stale, held = claim_one(), claim_one(now=at(60))
    settlements: list[tuple[ledger.Claim, Outcome]] = [(stale, REFUSED), (held, SENT)]
    lost = ledger.settle_batch(settlements[::turn], worker="worker-1", now=at(61))
    assert lost == [stale]
    assert fresh(delivery).status == Status.SENT
    assert last_event(delivery).type == Type.SENT
    assert delivery.events.filter(type=Type.DIED).count() == 0


def test_nothing_to_settle_is_nothing_to_do(db: None) -> None:
    assert ledger.settle_batch([], worker="worker-1") == []


def test_a_retry_of_no_delay_is_due_at_once(delivery: Delivery) -> None:
    now_again = RetryLater(error="503", delay=timedelta(0), may_have_accepted=True)
    settle(claim_one(), now_again, now=at(3))
    assert ledger.wake_due("email", now=at(3)) == 1


def test_a_delivery_once_sent_is_never_sent_again(delivery: Delivery) -> None:
    held = claim_one()
    settle(held, SENT)
    with pytest.raises(LeaseLost):
        settle(held, Sent(provider_message_id="msg-42"))
    assert fresh(delivery).provider_message_id == "msg-41"
