from datetime import timedelta

import pytest

from deliveries import kinds, ledger
from deliveries.models import Delivery
from invoices.models import Organization
from tests.ledger.note import Note
from tests.ledger.steps import (
    LEASE,
    NOW,
    RETRY,
    Status,
    Type,
    at,
    bring_to,
    claim,
    claim_one,
    claimed_ids,
    columns,
    events,
    everything,
    fresh,
    hand_over,
    last_event,
    make_deliveries,
    settle,
)


def test_a_claim_leases_a_ready_row(delivery: Delivery) -> None:
    claim_one("worker-1")
    assert columns(
        delivery, "status", "claims", "attempts", "lease_token", "locked_by", "locked_until"
    ) == {
        "status": Status.RUNNING,
        "claims": 1,
        "attempts": 0,
        "lease_token": 1,
        "locked_by": "worker-1",
        "locked_until": NOW + LEASE,
    }
    assert events(delivery) == [Type.REQUESTED]


def test_a_claim_carries_all_that_a_worker_needs(delivery: Delivery) -> None:
    assert claim_one() == ledger.Claim(
        delivery_id=delivery.pk,
        token=1,
        lane="email",
        kind="invoice",
        reference="INV-0001",
        idempotency_key=delivery.idempotency_key,
        correlation_id=delivery.correlation_id,
        claims=1,
        attempts=0,
        handed_over_at=None,
    )


def test_a_claim_says_since_when_the_provider_may_have_it(delivery: Delivery) -> None:
    first = claim_one()
    hand_over(first, now=at(2))
    settle(first, RETRY, now=at(3))
    ledger.wake_due("email", now=at(8))
    second = claim_one(now=at(8))
    assert (second.handed_over_at, second.attempts, second.claims) == (at(2), 1, 1)
    assert second.token == first.token + 1


@pytest.mark.parametrize("status", sorted(set(Status.values) - {Status.QUEUED}))
def test_only_queued_rows_are_claimed(delivery: Delivery, status: str) -> None:
    bring_to(delivery, status)
    before = everything()
    assert claim(now=at(59)) == []
    assert everything() == before


def test_a_claim_takes_no_more_than_its_worker_has_hands(organization: Organization) -> None:
    deliveries = make_deliveries(organization, 3)
    assert claimed_ids(claim(capacity=2)) == [deliveries[0].pk, deliveries[1].pk]
    assert fresh(deliveries[2]).status == Status.QUEUED


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_worker_without_a_hand_free_claims_nothing(delivery: Delivery, capacity: int) -> None:
    assert claim(capacity=capacity) == []
    assert fresh(delivery).status == Status.QUEUED


def test_a_lane_that_nobody_has_used_gives_nothing(db: None) -> None:
    assert claim(lane="webhooks") == []


def test_another_lanes_rows_are_left_alone(delivery: Delivery) -> None:
    ledger.configure("webhooks", limit=5, rate_per_second=None)
    assert claim(lane="webhooks") == []
    assert fresh(delivery).status == Status.QUEUED


@pytest.mark.parametrize("status", [Status.QUEUED, Status.RUNNING])
def test_a_kind_that_this_version_does_not_know_waits_for_one_that_does(
    delivery: Delivery, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring_to(delivery, status)
    monkeypatch.delitem(kinds._kinds, "invoice")
    assert claim(now=at(hours=1), max_claims=1) == []
    assert fresh(delivery).status == status


def test_an_unknown_kind_does_not_hold_up_the_known(
    note: Note, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_deliveries(organization, 3)
    [known] = note.request_many(organization, 1)
    monkeypatch.delitem(kinds._kinds, "invoice")
    assert claimed_ids(claim(capacity=1)) == [known.pk]


@pytest.mark.parametrize(
    ("after", "taken"),
    [
        (LEASE - timedelta(microseconds=1), 0),
        (LEASE, 1),
        (LEASE + timedelta(days=1), 1),
    ],
)
def test_a_lease_holds_until_its_very_end(delivery: Delivery, after: timedelta, taken: int) -> None:
    claim_one("worker-1")
    assert len(claim("worker-2", now=NOW + after)) == taken


def test_what_a_lost_worker_held_is_claimed_again(delivery: Delivery) -> None:
    lost = claim_one("worker-1")
    found = claim_one("worker-2", now=at(60))
    assert (found.token, found.claims, found.attempts) == (lost.token + 1, 2, 0)
    assert found.idempotency_key == lost.idempotency_key
    assert columns(delivery, "locked_by", "locked_until") == {
        "locked_by": "worker-2",
        "locked_until": at(120),
    }


def test_the_timeline_tells_of_a_lost_worker(delivery: Delivery) -> None:
    claim_one("worker-1")
    claim_one("worker-2", now=at(61.5))
    event = last_event(delivery)
    assert event.type == Type.LEASE_LOST
    assert event.sentence == "Worker worker-1 did not report back in time; worker-2 took over."
    assert (event.at, event.worker, event.attempt) == (at(61.5), "worker-2", None)
    assert event.correlation_id == delivery.correlation_id
    assert event.details == {
        "lost_by": "worker-1",
        "claims": 2,
        "lease_over_for_seconds": 1.5,
    }


def test_what_was_lost_comes_before_what_is_ready(organization: Organization) -> None:
    lost, *_ = make_deliveries(organization, 1)
    claim_one("worker-1")
    ready, *_ = make_deliveries(organization, 2)
    assert claimed_ids(claim("worker-2", capacity=2, now=at(60))) == [lost.pk, ready.pk]
