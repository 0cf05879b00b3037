import pytest

from deliveries import ledger
from deliveries.models import Delivery
from invoices.models import Organization
from tests import factories
from tests.ledger.programs import Programs, result
from tests.ledger.steps import (
    LEASE,
    Status,
    at,
    bring_to,
    claim,
    claim_one,
    columns,
    everything,
    fresh,
    make_deliveries,
)


def test_a_lease_in_use_is_renewed(delivery: Delivery) -> None:
    before = delivery.events.count()
    held = claim_one()
    assert ledger.extend([held], lease=LEASE, now=at(20)) == []
    assert columns(delivery, "locked_until", "lease_token", "claims") == {
        "locked_until": at(80),
        "lease_token": 1,
        "claims": 1,
    }
    assert delivery.events.count() == before


def test_a_renewed_lease_is_not_taken(delivery: Delivery) -> None:
    ledger.extend([claim_one("worker-1")], lease=LEASE, now=at(20))
    assert claim("worker-2", now=at(79)) == []
    assert claim("worker-2", now=at(80)) != []


def test_a_lease_that_ran_out_is_renewed_if_nobody_took_it(delivery: Delivery) -> None:
    assert ledger.extend([claim_one()], lease=LEASE, now=at(90)) == []
    assert fresh(delivery).locked_until == at(150)


def test_a_stale_worker_cannot_renew_anothers_lease(delivery: Delivery) -> None:
    stale = claim_one("worker-1")
    claim_one("worker-2", now=at(60))
    before = everything()
    assert ledger.extend([stale], lease=LEASE, now=at(61)) == [stale]
    assert everything() == before


@pytest.mark.parametrize("status", sorted(set(Status.values) - {Status.RUNNING}))
def test_only_a_running_row_has_a_lease_to_renew(delivery: Delivery, status: str) -> None:
    held = bring_to(delivery, status)
    before = everything()
    assert ledger.extend([held], lease=LEASE, now=at(20)) == [held]
    assert everything() == before


def test_the_lost_are_told_from_the_held(organization: Organization) -> None:
    lost, held = make_deliveries(organization, 2)
    stale = claim(capacity=2)
    claim("worker-2", capacity=1, now=at(60))
    [of_the_lost] = [each for each in stale if each.delivery_id == lost.pk]
    assert ledger.extend(stale, lease=LEASE, now=at(61)) == [of_the_lost]
    assert fresh(held).locked_until == at(121)
    assert fresh(lost).locked_until == at(120)


def test_a_lost_lease_is_told_though_the_same_worker_has_the_row_again(delivery: Delivery) -> None:
    stale, again = claim_one("worker-1"), claim_one("worker-1", now=at(60))
    assert ledger.extend([stale, again], lease=LEASE, now=at(61)) == [stale]


@pytest.mark.usefixtures("transactional_db")
def test_a_claim_beside_a_renewal_waits_and_keeps_to_the_lanes_limit(program: Programs) -> None:
    """A lease that ran out does not count; one that is being renewed is about to."""
    make_deliveries(factories.make_organization(), 2)
    ledger.configure("email", limit=1, rate_per_second=None)
    held = claim_one("stalled")
    stalled, second = program(), program()
    stalled.begin()
    stalled.do(ledger.lock_lane, "email")
    assert stalled.do(ledger.extend, [held], lease=LEASE, now=at(61)) == []
    claiming = second.start(claim, "second", now=at(61))
    second.wait_until_blocked()
    stalled.commit()
    assert result(claiming) == []


def test_with_nothing_in_hand_there_is_nothing_to_renew(db: None) -> None:
    assert ledger.extend([], lease=LEASE) == []
