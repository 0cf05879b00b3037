"""Two programs at the same rows at the same moment, each with a connection of its own."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection

from deliveries import kinds, ledger
from deliveries.errors import LeaseLost
from deliveries.models import Delivery, DeliveryEvent
from deliveries.outcomes import Outcome
from invoices.models import Invoice, Organization
from invoices.sending import send
from tests.ledger.programs import DEADLINE_SECONDS, Program, in_transaction, wait_until
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

Programs = Callable[[], Program]


def request(invoice: Invoice) -> tuple[int, bool]:
    delivery, created = ledger.request(
        invoice,
        kind=kinds.get("invoice"),
        dedupe_key=f"invoice:{invoice.pk}",
        reference=invoice.number,
        now=NOW,
    )
    return delivery.pk, created


def result[T](future: Future[T]) -> T:
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


def test_twenty_clicks_at_once_make_one_delivery(program: Programs, invoice: Invoice) -> None:
    programs = [program() for _ in range(5)]
    together = Barrier(len(programs), timeout=DEADLINE_SECONDS)

    def click() -> list[int]:
        together.wait()
        return [
            send(invoice.pk, organization=invoice.organization, user_id=None).pk  # type: ignore[arg-type]
            for _ in range(4)
        ]

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


def test_expired_leases_are_taken_over_once(
    program: Programs, organization: Organization
) -> None:
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
def gate(transactional_db: None) -> str:
    """Make every change of a lease's holder wait for an advisory lock, until the test is over.

    So a rescuer can be stopped where others went wrong: between its select and its update.
    """
    return "pg_advisory_xact_lock(41)"


def stop_rescuers_between_select_and_update() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE FUNCTION wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN PERFORM pg_advisory_xact_lock(41); RETURN NEW; END $$;
            CREATE TRIGGER gate BEFORE UPDATE ON deliveries_delivery FOR EACH ROW
                WHEN (NEW.locked_by = 'rescuer') EXECUTE FUNCTION wait_at_the_gate();
            """
        )


def tear_down_the_gate() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION IF EXISTS wait_at_the_gate() CASCADE")


def close_the_gate() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(41)")
