import pytest

from deliveries import ledger
from deliveries.errors import LeaseLost
from deliveries.models import Delivery
from invoices.models import Organization
from tests.ledger.note import Note
from tests.ledger.steps import (
    PUT_BACK,
    RETRY,
    SENT,
    Reason,
    Status,
    Type,
    at,
    claim,
    claim_one,
    columns,
    events,
    everything,
    fresh,
    hand_over,
    invoice_of,
    last_event,
    make_deliveries,
    settle,
)


def crash(times: int) -> None:
    for number in range(times):
        claim_one(f"worker-{number + 1}", now=at(60 * number))


def test_a_delivery_that_crashed_three_workers_is_dead(delivery: Delivery) -> None:
    crash(3)
    assert claim("worker-4", now=at(180)) == []
    assert columns(
        delivery, "status", "dead_reason", "last_error", "claims", "locked_by", "finished_at"
    ) == {
        "status": Status.DEAD,
        "dead_reason": Reason.CRASHED,
        "last_error": "crashed 3 workers",
        "claims": 3,
        "locked_by": None,
        "finished_at": at(180),
    }
    assert invoice_of(delivery).status == "failed"
    assert invoice_of(delivery).failure_reason == "crashed 3 workers"


def test_the_timeline_says_which_worker_it_crashed_last(delivery: Delivery) -> None:
    crash(3)
    claim("worker-4", now=at(180))
    event = last_event(delivery)
    assert event.type == Type.DIED
    assert event.sentence == "Given up: it crashed 3 workers, the last one worker-3."
    assert (event.worker, event.at) == ("worker-4", at(180))
    assert event.correlation_id == delivery.correlation_id
    assert event.details == {"dead_reason": "crashed", "lost_by": "worker-3"}
    assert events(delivery) == [Type.REQUESTED, Type.LEASE_LOST, Type.LEASE_LOST, Type.DIED]


def test_the_third_worker_may_still_succeed(delivery: Delivery) -> None:
    crash(3)
    assert claim("worker-4", now=at(179)) == []
    assert fresh(delivery).status == Status.RUNNING


def test_two_crashes_are_not_three(delivery: Delivery) -> None:
    crash(2)
    assert claim_one("worker-3", now=at(120)).claims == 3


def test_a_recorded_outcome_clears_the_crash_budget(delivery: Delivery) -> None:
    crash(2)
    settle(claim_one(now=at(120)), RETRY, now=at(121))
    ledger.wake_due("email", now=at(126))
    assert claim_one(now=at(126)).claims == 1


def test_what_is_put_back_costs_no_claim(delivery: Delivery) -> None:
    crash(2)
    for _ in range(5):
        settle(claim_one(now=at(120)), PUT_BACK, now=at(121))
    assert columns(delivery, "claims", "attempts") == {"claims": 2, "attempts": 0}


def test_a_crashed_delivery_may_have_reached_the_provider(delivery: Delivery) -> None:
    hand_over(claim_one())
    claim("worker-2", now=at(60), max_claims=1)
    assert fresh(delivery).dead_reason == Reason.CRASHED
    assert fresh(delivery).handed_over_at == at(0)


def test_a_worker_given_up_for_lost_cannot_settle(delivery: Delivery) -> None:
    lost = claim_one()
    claim("worker-2", now=at(60), max_claims=1)
    before = everything()
    with pytest.raises(LeaseLost):
        settle(lost, SENT, now=at(61))
    assert everything() == before


def test_the_crashed_do_not_use_up_the_room_of_others(organization: Organization) -> None:
    crashed = make_deliveries(organization, 5)
    claim("worker-1")
    [ready] = make_deliveries(organization, 1)
    assert [found.delivery_id for found in claim("worker-2", now=at(60), max_claims=1)] == [
        ready.pk
    ]
    assert {fresh(delivery).status for delivery in crashed} == {Status.DEAD}


def test_the_crashed_are_buried_while_the_lane_is_paused(delivery: Delivery) -> None:
    claim_one()
    ledger.pause("email", reason="the key was refused", for_=at(600) - at(0), now=at(1))
    claim("worker-2", now=at(60), max_claims=1)
    assert fresh(delivery).status == Status.DEAD


def test_each_buried_delivery_is_told_to_its_kind(note: Note, organization: Organization) -> None:
    crashed = note.request_many(organization, 2)
    claim("worker-1")
    claim("worker-2", now=at(60), max_claims=1)
    assert note.settled == [(delivery.pk, Status.DEAD) for delivery in crashed]
