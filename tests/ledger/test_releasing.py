import pytest

from deliveries import ledger
from deliveries.models import Delivery
from invoices.models import Organization
from tests.ledger.steps import (
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
    last_event,
    make_deliveries,
)


def release(claims: list[ledger.Claim], seconds: float = 1) -> list[ledger.Claim]:
    return ledger.release(claims, why="worker-1 is stopping", worker="worker-1", now=at(seconds))


def test_what_was_not_started_is_put_back_unburned(delivery: Delivery) -> None:
    assert release([claim_one()]) == []
    assert columns(
        delivery, "status", "claims", "attempts", "lease_token", "locked_by", "locked_until"
    ) == {
        "status": Status.QUEUED,
        "claims": 0,
        "attempts": 0,
        "lease_token": 1,
        "locked_by": None,
        "locked_until": None,
    }


def test_the_timeline_says_why_it_was_put_back(delivery: Delivery) -> None:
    release([claim_one()])
    event = last_event(delivery)
    assert (event.type, event.sentence) == (Type.RELEASED, "Put back: worker-1 is stopping")
    assert (event.worker, event.at, event.attempt) == ("worker-1", at(1), None)
    assert event.correlation_id == delivery.correlation_id


def test_what_was_put_back_is_ready_for_the_next_worker(delivery: Delivery) -> None:
    release([claim_one("worker-1")])
    next_ = claim_one("worker-2", now=at(2))
    assert (next_.delivery_id, next_.token, next_.claims) == (delivery.pk, 2, 1)


def test_what_was_put_back_keeps_its_place(organization: Organization) -> None:
    first, second = make_deliveries(organization, 2)
    release(claim(capacity=1))
    assert claim_one(now=at(2)).delivery_id == first.pk
    assert fresh(first).fair_tag == first.fair_tag < second.fair_tag


def test_a_release_does_not_forget_an_earlier_hand_over(delivery: Delivery) -> None:
    held = claim_one()
    hand_over(held)
    release([held])
    assert fresh(delivery).handed_over_at == at(0)


def test_a_stale_worker_cannot_put_back_what_another_holds(delivery: Delivery) -> None:
    stale = claim_one("worker-1")
    claim_one("worker-2", now=at(60))
    before = everything()
    assert release([stale], seconds=61) == [stale]
    assert everything() == before


@pytest.mark.parametrize("status", sorted(set(Status.values) - {Status.RUNNING}))
def test_only_a_running_row_is_released(delivery: Delivery, status: str) -> None:
    held = bring_to(delivery, status)
    before = everything()
    assert release([held]) == [held]
    assert everything() == before


def test_the_lost_do_not_keep_the_others_from_being_released(organization: Organization) -> None:
    lost, held = make_deliveries(organization, 2)
    claims = claim("worker-1")
    claim("worker-2", capacity=1, now=at(60))
    assert release(claims, seconds=61) == [claims[0]]
    assert (fresh(lost).status, fresh(held).status) == (Status.RUNNING, Status.QUEUED)
