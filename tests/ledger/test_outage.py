"""A provider that is down: one delivery at a time, spaced out, until one succeeds."""

import pytest

from deliveries import ledger
from deliveries.models import Lane
from invoices.models import Organization
from tests.ledger.steps import RETRY, SENT, at, claim, make_deliveries, settle


def fail(times: int) -> None:
    ledger.record_results("email", reached=False, failures=times)


def lane() -> Lane:
    return Lane.objects.get(name="email")


@pytest.fixture(autouse=True)
def deliveries(organization: Organization) -> None:
    make_deliveries(organization, 8)


def probe(now: float) -> int:
    """Claim; what was claimed fails at once. Return how many that was."""
    claims = claim(now=at(now))
    for each in claims:
        settle(each, RETRY, now=at(now))
        fail(1)
    return len(claims)


def test_four_failures_in_a_row_are_no_outage() -> None:
    fail(4)
    assert len(claim()) == 5


def test_after_five_failures_one_is_let_through_at_a_time() -> None:
    fail(5)
    assert len(claim("worker-1")) == 1
    assert claim("worker-2", now=at(30)) == []


def test_failures_count_over_several_rounds() -> None:
    fail(2)
    fail(3)
    assert len(claim()) == 1


def test_nothing_more_is_let_through_while_earlier_ones_still_run() -> None:
    held = claim(capacity=2)
    fail(5)
    assert claim() == []
    settle(held[0], RETRY)
    assert claim() == []
    settle(held[1], RETRY)
    assert len(claim()) == 1


def test_probes_are_spaced_out_further_and_further() -> None:
    fail(5)
    assert [probe(now) for now in (0, 0.9, 1, 2.9, 3, 6.9, 7)] == [1, 0, 1, 0, 1, 0, 1]


def test_probes_are_never_more_than_half_a_minute_apart() -> None:
    fail(500)
    assert [probe(now) for now in (0, 29.9, 30, 59.9, 60)] == [1, 0, 1, 0, 1]
    assert lane().next_probe_at == at(90)


def test_a_probe_whose_worker_was_killed_gives_its_slot_back() -> None:
    fail(5)
    claim("killed")
    assert claim("worker-2", now=at(59)) == []
    assert len(claim("worker-2", now=at(60))) == 1


def test_one_success_ends_the_outage() -> None:
    fail(9)
    settle(claim()[0], SENT, now=at(1))
    ledger.record_results("email", reached=True, failures=0)
    assert (lane().failures_in_a_row, lane().next_probe_at) == (0, None)
    assert len(claim(now=at(1))) == 5


def test_a_success_among_failures_ends_the_row() -> None:
    fail(4)
    ledger.record_results("email", reached=True, failures=3)
    assert lane().failures_in_a_row == 0


def test_what_says_nothing_of_the_provider_counts_as_neither() -> None:
    fail(5)
    ledger.record_results("email", reached=False, failures=0)
    assert lane().failures_in_a_row == 5


def test_an_outage_of_a_lane_that_nobody_has_used_is_nothing() -> None:
    ledger.record_results("webhooks", reached=False, failures=5)
    assert not Lane.objects.filter(name="webhooks").exists()


def test_probes_keep_to_the_rate() -> None:
    ledger.configure("email", limit=5, rate_per_second=0.1)
    fail(5)
    assert [probe(now) for now in (0, 1, 9.9, 10)] == [1, 0, 0, 1]
