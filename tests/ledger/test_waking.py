import pytest

from deliveries import ledger
from deliveries.models import Delivery, Lane
from invoices.models import Organization
from tests import factories
from tests.ledger.steps import (
    RETRY,
    Status,
    at,
    bring_to,
    claim,
    claim_one,
    columns,
    events,
    everything,
    fresh,
    make_deliveries,
    settle,
)


def test_a_retry_whose_time_has_come_is_ready(delivery: Delivery) -> None:
    settle(claim_one(), RETRY)
    told = events(delivery)
    assert ledger.wake_due("email", now=at(5)) == 1
    assert columns(delivery, "status", "next_attempt_at", "attempts", "lease_token") == {
        "status": Status.QUEUED,
        "next_attempt_at": None,
        "attempts": 1,
        "lease_token": 1,
    }
    assert events(delivery) == told


def test_a_retry_waits_for_its_time(delivery: Delivery) -> None:
    settle(claim_one(), RETRY)
    before = everything()
    assert ledger.wake_due("email", now=at(4.999)) == 0
    assert everything() == before


@pytest.mark.parametrize("status", sorted(set(Status.values) - {Status.RETRYING}))
def test_only_retries_are_woken(delivery: Delivery, status: str) -> None:
    bring_to(delivery, status)
    before = everything()
    assert ledger.wake_due("email", now=at(hours=1)) == 0
    assert everything() == before


def test_another_lanes_retries_sleep_on(delivery: Delivery) -> None:
    settle(claim_one(), RETRY)
    assert ledger.wake_due("webhooks", now=at(5)) == 0


def test_the_longest_due_are_woken_first(organization: Organization) -> None:
    make_deliveries(organization, 2)
    later, earlier = claim()
    settle(later, RETRY, now=at(2))
    settle(earlier, RETRY, now=at(1))
    assert ledger.wake_due("email", limit=1, now=at(60)) == 1
    assert Delivery.objects.get(status=Status.QUEUED).pk == earlier.delivery_id


def test_a_retry_takes_its_turn_before_its_own_organizations_later_ones(
    organization: Organization,
) -> None:
    first, _ = make_deliveries(organization, 2)
    settle(claim_one(), RETRY)
    ledger.wake_due("email", now=at(5))
    assert claim_one(now=at(5)).delivery_id == first.pk


def test_many_retries_of_one_organization_do_not_stand_before_anothers_first(
    organization: Organization,
) -> None:
    failing = make_deliveries(organization, 10)
    for each in claim(capacity=10):
        settle(each, RETRY)
    elsewhere = factories.make_organization("nordlicht", name="Nordlicht Kaffee GmbH")
    [other] = make_deliveries(elsewhere, 1)
    ledger.wake_due("email", now=at(5))
    turns = [claim_one(now=at(5 + turn)).delivery_id for turn in range(3)]
    # One that failed, one that never had its turn, and the other organization's.
    assert turns == [failing[0].pk, failing[5].pk, other.pk]


def test_a_retry_that_failed_late_in_the_queue_is_not_drawn_forward(
    organization: Organization,
) -> None:
    later = make_deliveries(organization, 3)[-1]
    Delivery.objects.filter(pk=later.pk).update(fair_tag=7)
    for each in claim(capacity=3):
        settle(each, RETRY)
    Lane.objects.update(virtual_time=0)
    ledger.wake_due("email", now=at(5))
    assert fresh(later).fair_tag == 7
