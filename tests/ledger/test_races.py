"""Requests and claims at the same moment, each with a connection of its own."""

from threading import Barrier

from django.contrib.auth.models import User

from deliveries.models import Delivery, DeliveryEvent
from invoices.models import Invoice, Organization
from tests.ledger.programs import DEADLINE_SECONDS, Programs, in_transaction, result
from tests.ledger.steps import (
    Status,
    Type,
    at,
    claim,
    click_on_send,
    events,
    make_deliveries,
    request,
)

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
        return [click_on_send(invoice, support) for _ in range(4)]

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
