"""Two programs at the same rows at the same moment, each with a connection of its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Barrier
from typing import TypeVar

import pytest
from django.contrib.auth.models import User
from django.db import connection

from deliveries import kinds, ledger
from deliveries.errors import LeaseLost, WrongState
from deliveries.models import Delivery, DeliveryEvent
from deliveries.outcomes import Outcome
from invoices.models import Invoice, Organization
from invoices.sending import send
from tests import factories
from tests.ledger.programs import DEADLINE_SECONDS, Program, in_transaction
from tests.ledger.steps import (
    LEASE,
    NOW,
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
    invoice_of,
    make_deliveries,
    replay,
    settle,
)

T = TypeVar("T")
Programs = Callable[[], Program]


def request(invoice: Invoice, suffix: str = "") -> tuple[int, bool]:
    delivery, created = ledger.request(
        invoice,
        kind=kinds.get("invoice"),
        dedupe_key=f"invoice:{invoice.pk}{suffix}",
        reference=invoice.number,
        now=NOW,
    )
    return delivery.pk, created


def click_send(invoice: Invoice, person: User) -> int:
    return send(invoice.pk, organization=invoice.organization, user_id=person.pk).pk


def lock(invoice: Invoice) -> None:
    Invoice.objects.select_for_update().get(pk=invoice.pk)


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def result(future: Future[T]) -> T:
    return future.result(timeout=DEADLINE_SECONDS)


# Two requests ------------------------------------------------------------------------------------


def test_where_the_first_request_rolls_back_the_second_makes_the_row(
    program: Programs, invoice: Invoice
) -> None:
    first, second = program(), program()
    first.begin()
    vanished, _ = first.do(request, invoice)
    waiting = second.start(in_transaction, request, invoice)
    second.wait_until_blocked()
    first.rollback()
    made, created = result(waiting)
    assert created
    assert made != vanished
    assert events(Delivery.objects.get()) == [Type.REQUESTED]


def test_where_the_first_request_commits_the_second_gets_its_row(
    program: Programs, invoice: Invoice
) -> None:
    first, second = program(), program()
    first.begin()
    made, _ = first.do(request, invoice)
    waiting = second.start(in_transaction, request, invoice)
    second.wait_until_blocked()
    first.commit()
    assert result(waiting) == (made, False)
    assert events(Delivery.objects.get()) == [Type.REQUESTED, Type.REQUESTED_AGAIN]


def test_twenty_clicks_at_once_make_one_delivery(
    program: Programs, invoice: Invoice, support: User
) -> None:
    programs = [program() for _ in range(5)]
    together = Barrier(len(programs), timeout=DEADLINE_SECONDS)

    def click() -> list[int]:
        together.wait()
        return [click_send(invoice, support) for _ in range(4)]

    answers = [result(future) for future in [each.start(click) for each in programs]]
    assert {pk for pks in answers for pk in pks} == {Delivery.objects.get().pk}
    assert DeliveryEvent.objects.count() == 20


def test_a_request_that_is_not_committed_is_claimed_by_nobody(
    program: Programs, invoice: Invoice
) -> None:
    other = program()
    other.begin()
    made, _ = other.do(request, invoice)
    assert claim() == []
    other.commit()
    assert [each.delivery_id for each in claim()] == [made]


# Two claims --------------------------------------------------------------------------------------


def test_claims_at_the_same_instant_share_neither_rows_nor_slots(
    program: Programs, organization: Organization
) -> None:
    make_deliveries(organization, 9)
    programs = [program() for _ in range(4)]
    together = Barrier(len(programs), timeout=DEADLINE_SECONDS)

    def take(worker: str) -> list[int]:
        together.wait()
        return [each.delivery_id for _ in range(3) for each in claim(worker, capacity=2)]

    futures = [each.start(take, f"worker-{n}") for n, each in enumerate(programs)]
    taken = [pk for future in futures for pk in result(future)]
    assert len(taken) == len(set(taken)) == 5
    assert Delivery.objects.filter(status=Status.RUNNING).count() == 5


def test_a_claim_waits_to_count_what_another_has_just_taken(
    program: Programs, organization: Organization
) -> None:
    make_deliveries(organization, 9)
    other, second = program(), program()
    other.begin()
    assert len(other.do(claim, "worker-1", capacity=3)) == 3
    waiting = second.start(claim, "worker-2")
    second.wait_until_blocked()
    other.commit()
    assert len(result(waiting)) == 2


def test_expired_leases_are_taken_over_once(program: Programs, organization: Organization) -> None:
    make_deliveries(organization, 5)
    claim("lost")
    programs = [program() for _ in range(3)]
    together = Barrier(len(programs), timeout=DEADLINE_SECONDS)

    def take(worker: str) -> int:
        together.wait()
        return len(claim(worker, now=at(60)))

    futures = [each.start(take, f"worker-{n}") for n, each in enumerate(programs)]
    assert sorted(result(future) for future in futures) == [0, 0, 5]
    assert DeliveryEvent.objects.filter(type=Type.LEASE_LOST).count() == 5


# A rescuer and a worker that is not lost after all -----------------------------------------------


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


def extend(held: ledger.Claim) -> set[int]:
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
    assert result(waiting) in ({delivery.pk}, [held])
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


# People and workers ------------------------------------------------------------------------------


def test_two_replays_at_once_put_it_back_once(
    program: Programs, delivery: Delivery, support: User
) -> None:
    settle(claim_one(), REFUSED)
    first, second = program(), program()
    first.begin()
    first.do(replay, delivery, support.pk, now=at(60))
    waiting = second.start(replay, delivery, support.pk, now=at(60))
    second.wait_until_blocked()
    first.commit()
    with pytest.raises(WrongState, match="it is queued"):
        result(waiting)
    assert events(delivery).count(Type.REPLAYED) == 1


def test_what_is_being_claimed_is_not_cancelled(program: Programs, delivery: Delivery) -> None:
    worker, person = program(), program()
    worker.begin()
    worker.do(claim)
    waiting = person.start(ledger.cancel, delivery.pk, actor_id=None, why="sent by post")
    person.wait_until_blocked()
    worker.commit()
    with pytest.raises(WrongState, match="it is running"):
        result(waiting)


def test_what_is_being_cancelled_is_not_claimed(program: Programs, delivery: Delivery) -> None:
    person = program()
    person.begin()
    person.do(ledger.cancel, delivery.pk, actor_id=None, why="sent by post")
    assert claim() == []
    person.commit()
    assert claim() == []


@pytest.mark.parametrize("outcome", [SENT, RETRY, REFUSED])
def test_a_click_while_the_outcome_is_being_recorded_waits_for_it(
    program: Programs, delivery: Delivery, support: User, outcome: Outcome
) -> None:
    held, worker, person = claim_one(), program(), program()
    invoice = invoice_of(delivery)
    worker.begin()
    worker.do(settle, held, outcome)
    clicked = person.start(click_send, invoice, support)
    if outcome is not RETRY:  # Which changes no invoice, so that nobody waits.
        person.wait_until_blocked()
    worker.commit()
    assert result(clicked) == delivery.pk
    assert invoice_of(delivery).status != "draft"


@pytest.mark.parametrize("outcome", [SENT, REFUSED])
def test_an_outcome_recorded_while_a_click_is_under_way_waits_for_it(
    program: Programs, delivery: Delivery, support: User, outcome: Outcome
) -> None:
    held, worker, person = claim_one(), program(), program()
    invoice = invoice_of(delivery)
    person.begin()
    person.do(click_send, invoice, support)
    settled = worker.start(settle, held, outcome)
    worker.wait_until_blocked()
    person.commit()
    result(settled)
    assert events(delivery)[1:] == [Type.REQUESTED_AGAIN, Type.SENT] or outcome is REFUSED
    assert invoice_of(delivery).status in {"sent", "failed"}


def test_a_click_while_its_delivery_is_being_replayed_does_not_end_in_a_deadlock(
    program: Programs, delivery: Delivery, support: User
) -> None:
    settle(claim_one(), REFUSED)
    person, supporter = program(), program()
    person.begin()
    person.do(click_send, invoice_of(delivery), support)
    replayed = supporter.start(replay, delivery, support.pk, now=at(60))
    supporter.wait_until_blocked()
    person.commit()
    result(replayed)
    assert fresh(delivery).idempotency_key != delivery.idempotency_key
    assert invoice_of(delivery).status == "sending"


def test_a_second_sending_while_the_first_is_being_replayed_does_not_end_in_a_deadlock(
    program: Programs, delivery: Delivery, support: User
) -> None:
    settle(claim_one(), REFUSED)
    person, supporter = program(), program()
    person.begin()
    person.do(lock, delivery.invoice)
    replayed = supporter.start(replay, delivery, support.pk, now=at(60))
    supporter.wait_until_blocked()
    _, created = person.do(request, delivery.invoice, ":again:1")
    person.commit()
    result(replayed)
    assert created
    assert fresh(delivery).status == Status.QUEUED


def test_batches_that_share_invoices_do_not_end_in_a_deadlock(
    program: Programs, organization: Organization
) -> None:
    one, two = make_deliveries(organization, 2)
    again_two = factories.make_delivery(two.invoice, key="again:2")
    again_one = factories.make_delivery(one.invoice, key="again:1")
    held = {each.delivery_id: each for each in claim()}
    holder, worker, other = program(), program(), program()
    holder.begin()
    holder.do(lock, one.invoice)

    def settle_both(*deliveries: Delivery) -> list[ledger.Claim]:
        settlements = [(held[delivery.pk], SENT) for delivery in deliveries]
        return ledger.settle_batch(settlements, worker="worker-1", now=at(1))

    first = worker.start(settle_both, one, two)
    worker.wait_until_blocked()
    second = other.start(settle_both, again_two, again_one)
    other.wait_until_blocked()
    holder.commit()
    assert (result(first), result(second)) == ([], [])
