"""How many at once over the whole fleet, how fast, and whether at all."""

from datetime import timedelta

import pytest
from django.db import IntegrityError

from deliveries import ledger
from deliveries.ledger import sql
from deliveries.models import Lane
from deliveries.outcomes import Outcome
from invoices.models import Organization
from tests.ledger.steps import (
    PUT_BACK,
    RETRY,
    SENT,
    Status,
    at,
    claim,
    claimed_ids,
    make_deliveries,
    settle,
)


def lane() -> Lane:
    return Lane.objects.get(name="email")


# The limit -------------------------------------------------------------------------------------


def test_several_workers_share_one_limit(organization: Organization) -> None:
    make_deliveries(organization, 8)
    assert [len(claim(f"worker-{n}", capacity=2)) for n in range(4)] == [2, 2, 1, 0]


@pytest.mark.parametrize("outcome", [SENT, RETRY, PUT_BACK])
def test_every_outcome_gives_the_slot_back(organization: Organization, outcome: Outcome) -> None:
    make_deliveries(organization, 7)
    settle(claim()[0], outcome)
    assert len(claim("worker-2")) == 1


def test_killed_workers_give_their_slots_back_when_their_leases_end(
    organization: Organization,
) -> None:
    make_deliveries(organization, 8)
    held = claim("killed")
    assert claim("worker-2", now=at(59)) == []
    assert claimed_ids(claim("worker-2", now=at(60))) == claimed_ids(held)


def test_what_is_lost_and_what_is_ready_share_the_room(organization: Organization) -> None:
    deliveries = make_deliveries(organization, 8)
    held = claim("worker-1")
    ledger.extend(held[:3], lease=timedelta(seconds=60), now=at(30))
    taken = claim("worker-2", now=at(60))
    assert claimed_ids(taken) == [deliveries[3].pk, deliveries[4].pk]


def test_a_lowered_limit_holds_for_what_is_claimed_next(organization: Organization) -> None:
    make_deliveries(organization, 6)
    held = claim(capacity=3)
    ledger.configure("email", limit=2, rate_per_second=None)
    assert claim() == []
    for each in held[:2]:
        settle(each, SENT)
    assert len(claim()) == 1


def test_a_raised_limit_gives_more_room(organization: Organization) -> None:
    make_deliveries(organization, 8)
    claim()
    ledger.configure("email", limit=7, rate_per_second=None)
    assert len(claim()) == 2


def test_lanes_do_not_share_their_limits(organization: Organization) -> None:
    make_deliveries(organization, 1)
    ledger.configure("webhooks", limit=1, rate_per_second=3.0)
    assert len(claim()) == 1
    assert Lane.objects.get(name="webhooks").limit == 1


def test_configuring_twice_keeps_what_has_been_counted(organization: Organization) -> None:
    make_deliveries(organization, 3)
    ledger.configure("email", limit=5, rate_per_second=2)
    claim(capacity=2)
    ledger.configure("email", limit=5, rate_per_second=2)
    assert claim(capacity=1) == []


@pytest.mark.parametrize(("limit", "rate"), [(0, None), (-1, None), (5, 0.0), (5, -1.0)])
def test_a_senseless_limit_is_refused(db: None, limit: int, rate: float | None) -> None:
    with pytest.raises(IntegrityError, match="lane_"):
        ledger.configure("email", limit=limit, rate_per_second=rate)


# The rate --------------------------------------------------------------------------------------


def claims_at(*moments: float) -> list[int]:
    """Return how many were claimed at each moment, each settled at once."""
    taken = []
    for moment in moments:
        claims = claim(now=at(moment))
        for each in claims:
            settle(each, SENT, now=at(moment))
        taken.append(len(claims))
    return taken


@pytest.mark.parametrize(
    ("rate", "moments", "taken"),
    [
        # One every two seconds; what has gathered meanwhile is at most one.
        (0.5, [0, 1, 1.9, 2, 3, 4, 100, 101], [1, 0, 0, 1, 0, 1, 1, 0]),
        # Two a second, and no more than two at once after any rest.
        (2, [0, 0.4, 0.5, 0.9, 1, 60, 60.1], [2, 0, 1, 0, 1, 2, 0]),
        # A fraction gathered is not lost by a claim that takes what is whole.
        (2, [0, 0.75, 1], [2, 1, 1]),
        (2.5, [0, 0.4, 0.8, 1.2, 1.6], [2, 1, 1, 1, 1]),
        # A clock that is set back gives nothing away.
        (2, [10, 9, 10.5], [2, 0, 1]),
        (None, [0, 0], [5, 5]),
    ],
)
def test_a_lane_goes_no_faster_than_its_rate(
    organization: Organization, rate: float | None, moments: list[float], taken: list[int]
) -> None:
    make_deliveries(organization, 12)
    ledger.configure("email", limit=5, rate_per_second=rate)
    assert claims_at(*moments) == taken


@pytest.mark.parametrize(
    ("configured", "reported", "taken"),
    [(None, 2.0, 2), (5, 2.0, 2), (2, 5.0, 2), (None, 5.0, 5), (None, 0.5, 1)],
)
def test_the_lower_of_the_configured_and_the_reported_rate_holds(
    organization: Organization, configured: float | None, reported: float, taken: int
) -> None:
    make_deliveries(organization, 8)
    ledger.configure("email", limit=10, rate_per_second=configured)
    ledger.heed_rate("email", reported)
    assert len(claim(capacity=8)) == taken
    assert lane().rate_per_second == configured


def test_a_rate_that_is_known_already_is_not_written_again(organization: Organization) -> None:
    def version() -> object:
        # Within one transaction, only ctid tells that a row was written anew.
        return sql.one("SELECT ctid::text AS at FROM deliveries_lane WHERE name = 'email'", {}).at

    ledger.configure("email", limit=5, rate_per_second=None)
    ledger.heed_rate("email", 2.0)
    before = version()
    ledger.heed_rate("email", 2.0)
    assert version() == before
    ledger.heed_rate("email", 5.0)
    assert (version() != before, lane().reported_rate) == (True, 5.0)


def test_a_worker_that_starts_forgets_the_reported_rate(organization: Organization) -> None:
    ledger.configure("email", limit=5, rate_per_second=None)
    ledger.heed_rate("email", 2.0)
    ledger.configure("email", limit=5, rate_per_second=None)
    assert lane().reported_rate is None


def test_a_senseless_rate_is_refused(db: None) -> None:
    ledger.configure("email", limit=5, rate_per_second=None)
    with pytest.raises(IntegrityError, match="lane_reported_rate_positive"):
        ledger.heed_rate("email", 0.0)


def test_the_rate_is_shared_by_all_workers(organization: Organization) -> None:
    make_deliveries(organization, 4)
    ledger.configure("email", limit=5, rate_per_second=2)
    assert [len(claim(f"worker-{n}", capacity=1)) for n in range(3)] == [1, 1, 0]


def test_recovered_rows_count_towards_the_rate(organization: Organization) -> None:
    make_deliveries(organization, 4)
    claim("worker-1", capacity=2)
    ledger.configure("email", limit=5, rate_per_second=1)
    assert [len(claim(now=at(60))), len(claim(now=at(60))), len(claim(now=at(61)))] == [1, 0, 1]


def test_the_limit_holds_whatever_the_rate(organization: Organization) -> None:
    make_deliveries(organization, 8)
    ledger.configure("email", limit=2, rate_per_second=100)
    assert len(claim()) == 2
    assert claim(now=at(10)) == []


def test_looking_in_vain_costs_nothing(organization: Organization) -> None:
    ledger.configure("email", limit=5, rate_per_second=2)
    claims_at(0, 0.1, 0.2)
    make_deliveries(organization, 3)
    assert claims_at(0.3) == [2]


def test_a_rate_taken_away_and_given_back_starts_full(organization: Organization) -> None:
    make_deliveries(organization, 9)
    ledger.configure("email", limit=5, rate_per_second=2)
    assert claims_at(0, 0) == [2, 0]
    ledger.configure("email", limit=5, rate_per_second=None)
    assert claims_at(0) == [5]
    ledger.configure("email", limit=5, rate_per_second=1)
    assert claims_at(0, 0) == [1, 0]


# Standing still --------------------------------------------------------------------------------


def pause(
    seconds: float, *, reason: str = "The provider's quota is used up.", now: float = 0
) -> None:
    ledger.pause("email", reason=reason, for_=timedelta(seconds=seconds), now=at(now))


def test_a_paused_lane_gives_nothing_until_its_time(organization: Organization) -> None:
    make_deliveries(organization, 1)
    pause(30)
    assert claim(now=at(29.999)) == []
    assert len(claim(now=at(30))) == 1


def test_a_pause_says_until_when_and_why(db: None) -> None:
    pause(30)
    assert lane().paused_until == at(30)
    assert lane().paused_reason == "The provider's quota is used up."


def test_what_runs_may_end_while_the_lane_is_paused(organization: Organization) -> None:
    make_deliveries(organization, 1)
    [held] = claim()
    pause(30)
    assert ledger.extend([held], lease=timedelta(seconds=60), now=at(5)) == []
    settle(held, SENT, now=at(6))


def test_a_pause_that_lasts_longer_is_not_shortened(db: None) -> None:
    pause(3600, reason="The key was refused.")
    pause(5, reason="Too many requests.", now=10)
    assert (lane().paused_until, lane().paused_reason) == (at(3600), "The key was refused.")


def test_a_longer_pause_takes_over(db: None) -> None:
    pause(5, reason="Too many requests.")
    pause(3600, reason="The key was refused.", now=1)
    assert (lane().paused_until, lane().paused_reason) == (at(3601), "The key was refused.")


def test_a_pause_that_is_over_gives_way_to_a_new_one(db: None) -> None:
    pause(60, reason="The key was refused.")
    pause(5, reason="Too many requests.", now=61)
    assert (lane().paused_until, lane().paused_reason) == (at(66), "Too many requests.")


def test_a_resumed_lane_goes_on_at_once(organization: Organization) -> None:
    make_deliveries(organization, 1)
    pause(3600)
    assert ledger.resume("email", reason="The key is right again.")
    assert (lane().paused_until, lane().paused_reason) == (None, "")
    assert len(claim(now=at(1))) == 1


def test_resuming_what_is_not_paused_changes_nothing(organization: Organization) -> None:
    make_deliveries(organization, 1)
    before = Lane.objects.values().get()
    assert not ledger.resume("email", reason="The key is right again.")
    assert not ledger.resume("webhooks", reason="It works.")
    assert Lane.objects.values().get() == before


def test_retries_are_woken_while_the_lane_is_paused(organization: Organization) -> None:
    make_deliveries(organization, 1)
    settle(claim()[0], RETRY)
    pause(3600)
    assert ledger.wake_due("email", now=at(5)) == 1
    assert claim(now=at(5)) == []


@pytest.mark.parametrize(
    ("paused", "status", "ready"),
    [(False, Status.QUEUED, True), (True, Status.QUEUED, False), (False, Status.RUNNING, False)],
)
def test_a_lane_is_ready_if_something_could_be_claimed(
    organization: Organization, paused: bool, status: str, ready: bool
) -> None:
    make_deliveries(organization, 1)
    if status == Status.RUNNING:
        claim()
    if paused:
        ledger.pause("email", reason="The key was refused.", for_=timedelta(hours=1))
    assert ledger.ready("email") is ready


def test_a_lane_without_kinds_is_never_ready(organization: Organization) -> None:
    make_deliveries(organization, 1)
    ledger.configure("webhooks", limit=5, rate_per_second=None)
    assert not ledger.ready("webhooks")
    assert not ledger.ready("no such lane")
