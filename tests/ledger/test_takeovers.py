"""A worker taken for lost that is not: whatever it still does meets a row that has moved on."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User

from deliveries import ledger
from deliveries.errors import LeaseLost
from deliveries.models import Delivery
from deliveries.outcomes import Outcome
from tests.ledger.programs import (
    Program,
    Programs,
    execute,
    result,
)
from tests.ledger.steps import (
    LEASE,
    REFUSED,
    RETRY,
    SENT,
    Status,
    Type,
    at,
    claim,
    claim_one,
    events,
    everything,
    fresh,
    hand_over,
    replay,
    settle,
)


@pytest.mark.parametrize("outcome", [SENT, RETRY, REFUSED])
def test_what_is_being_acknowledged_is_not_rescued(
    program: Programs, delivery: Delivery, outcome: Outcome
) -> None:
    held, worker = claim_one(), program()
    worker.begin()
    worker.do(settle, held, outcome, now=at(60))
    assert claim("rescuer", now=at(60)) == []
    worker.commit()
    after = everything()
    assert claim("rescuer", now=at(60)) == []
    assert everything() == after


@pytest.fixture
def gate(program: Programs) -> Iterator[Program]:
    """Stop a rescuer where others went wrong, between its select and its update.

    It goes on when the transaction of the program given here ends.
    """
    execute(
        """
        CREATE FUNCTION wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_advisory_xact_lock(41); RETURN NEW; END $$;
        CREATE TRIGGER gate BEFORE UPDATE ON deliveries_delivery FOR EACH ROW
            WHEN (NEW.locked_by = 'rescuer') EXECUTE FUNCTION wait_at_the_gate();
        """
    )
    keeper = program()
    keeper.begin()
    keeper.do(execute, "SELECT pg_advisory_xact_lock(41)")
    yield keeper
    execute("DROP FUNCTION wait_at_the_gate() CASCADE")


def test_an_acknowledgement_between_a_rescuers_select_and_update_is_lost_not_undone(
    gate: Program, program: Programs, delivery: Delivery
) -> None:
    held, rescuer, worker = claim_one("worker-1"), program(), program()
    rescued = rescuer.start(claim, "rescuer", now=at(60))
    rescuer.wait_until_blocked()
    acknowledged = worker.start(settle, held, SENT, now=at(60))
    worker.wait_until_blocked()
    gate.commit()
    [found] = result(rescued)
    with pytest.raises(LeaseLost):
        result(acknowledged)
    assert (found.token, fresh(delivery).locked_by) == (2, "rescuer")
    assert events(delivery) == [Type.REQUESTED, Type.LEASE_LOST]


def extend(held: ledger.Claim) -> list[ledger.Claim]:
    return ledger.extend([held], lease=LEASE, now=at(60))


def release(held: ledger.Claim) -> list[ledger.Claim]:
    return ledger.release([held], why="stopping", worker="worker-1", now=at(60))


@pytest.mark.parametrize("step", [extend, release])
def test_a_step_on_a_row_that_is_just_being_reclaimed_waits_and_is_lost(
    program: Programs, delivery: Delivery, step: Callable[[ledger.Claim], object]
) -> None:
    held, rescuer, worker = claim_one("worker-1"), program(), program()
    rescuer.begin()
    rescuer.do(claim, "rescuer", now=at(60))
    waiting = worker.start(step, held)
    worker.wait_until_blocked()
    rescuer.commit()
    after = everything()
    assert result(waiting) == [held]
    assert everything() == after


@pytest.mark.parametrize("outcome", [SENT, RETRY, REFUSED])
def test_an_outcome_of_a_row_that_is_just_being_reclaimed_is_lost(
    program: Programs, delivery: Delivery, outcome: Outcome
) -> None:
    held, rescuer, worker = claim_one("worker-1"), program(), program()
    rescuer.begin()
    rescuer.do(claim, "rescuer", now=at(60))
    waiting = worker.start(settle, held, outcome, now=at(60))
    worker.wait_until_blocked()
    rescuer.commit()
    with pytest.raises(LeaseLost):
        result(waiting)
    assert fresh(delivery).locked_by == "rescuer"


def test_a_hand_over_of_a_row_that_is_just_being_reclaimed_does_not_begin(
    program: Programs, delivery: Delivery
) -> None:
    held, rescuer, worker = claim_one("worker-1"), program(), program()
    rescuer.begin()
    rescuer.do(claim, "rescuer", now=at(60))
    waiting = worker.start(hand_over, held, now=at(44))
    worker.wait_until_blocked()
    rescuer.commit()
    with pytest.raises(LeaseLost):
        result(waiting)
    assert fresh(delivery).handed_over_at is None


def test_a_takeover_that_rolls_back_leaves_the_row_to_its_worker(
    program: Programs, delivery: Delivery
) -> None:
    held, rescuer, worker = claim_one("worker-1"), program(), program()
    rescuer.begin()
    rescuer.do(claim, "rescuer", now=at(60))
    waiting = worker.start(settle, held, SENT, now=at(60))
    worker.wait_until_blocked()
    rescuer.rollback()
    result(waiting)
    assert events(delivery) == [Type.REQUESTED, Type.SENT]


def test_a_stale_worker_cannot_settle_what_is_being_replayed(
    program: Programs, delivery: Delivery, support: User
) -> None:
    stale = claim_one()
    claim("worker-2", now=at(60), max_claims=1)
    person = program()
    person.begin()
    person.do(replay, delivery, support.pk, now=at(61))
    assert ledger.settle_batch([(stale, SENT)], worker="worker-1", now=at(61)) == [stale]
    person.commit()
    assert ledger.settle_batch([(stale, SENT)], worker="worker-1", now=at(62)) == [stale]
    assert fresh(delivery).status == Status.QUEUED
