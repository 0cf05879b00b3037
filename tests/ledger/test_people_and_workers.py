"""People click while workers record: each waits for the other, and never both."""

import pytest
from django.contrib.auth.models import User

from deliveries import ledger
from deliveries.errors import WrongState
from deliveries.models import Delivery
from deliveries.outcomes import Outcome
from invoices.models import Invoice, Organization
from tests import factories
from tests.ledger.programs import Programs, result
from tests.ledger.steps import (
    REFUSED,
    RETRY,
    SENT,
    Status,
    Type,
    at,
    claim,
    claim_one,
    click_on_send,
    events,
    fresh,
    invoice_of,
    make_deliveries,
    replay,
    request,
    settle,
)


def lock(invoice: Invoice) -> None:
    Invoice.objects.select_for_update().get(pk=invoice.pk)


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
    with pytest.raises(WrongState, match="already waiting"):
        result(waiting)
    assert events(delivery).count(Type.REPLAYED) == 1


def test_what_is_being_claimed_is_not_cancelled(program: Programs, delivery: Delivery) -> None:
    worker, person = program(), program()
    worker.begin()
    worker.do(claim)
    waiting = person.start(ledger.cancel, delivery.pk, actor_id=None, why="sent by post")
    person.wait_until_blocked()
    worker.commit()
    with pytest.raises(WrongState, match="already running"):
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
    clicked = person.start(click_on_send, invoice, support)
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
    person.do(click_on_send, invoice, support)
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
    person.do(click_on_send, invoice_of(delivery), support)
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
    [one] = make_deliveries(organization, 1)
    two, again_two = make_deliveries(organization, 2)
    again_one = factories.make_delivery(one.invoice, key="again")
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
