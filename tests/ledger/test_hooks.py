"""A kind follows its deliveries, and cannot undo what is recorded of them."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import InternalError, OperationalError, connection
from psycopg.errors import IdleInTransactionSessionTimeout

from deliveries import kinds, ledger
from deliveries.errors import DATABASE_TROUBLE
from deliveries.models import Delivery
from invoices.models import Invoice, Organization
from tests.ledger.note import Note
from tests.ledger.steps import (
    REFUSED,
    SENT,
    Status,
    Type,
    at,
    claim,
    events,
    everything,
    fresh,
    replay,
    settle,
)


def fail(delivery: Delivery) -> None:
    Invoice.objects.filter(pk=delivery.invoice_id).update(status="paid")
    raise RuntimeError(f"no room for {delivery.reference}")


def break_a_constraint(delivery: Delivery) -> None:
    Invoice.objects.filter(pk=delivery.invoice_id).update(status="mislaid")


def break_the_statement(delivery: Delivery) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


def lose_the_database(delivery: Delivery) -> None:
    raise OperationalError("server closed the connection unexpectedly")


def stand_still(delivery: Delivery) -> None:
    """As PostgreSQL ends a transaction whose process was suspended."""
    raise InternalError("stood still") from IdleInTransactionSessionTimeout("idle")


@pytest.fixture
def delivery(note: Note, organization: Organization) -> Delivery:
    return note.request_many(organization, 1)[0]


BUGS = [fail, break_a_constraint, break_the_statement]


@pytest.mark.parametrize("bug", BUGS)
def test_a_kind_that_fails_does_not_undo_that_it_was_sent(
    note: Note, delivery: Delivery, bug: Callable[[Delivery], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note, "on_settled", bug)
    settle(claim()[0], SENT)
    assert fresh(delivery).status == Status.SENT
    assert events(delivery) == [Type.REQUESTED, Type.SENT]
    assert Invoice.objects.get().status == "draft"


def test_a_kind_that_fails_is_reported(
    note: Note,
    delivery: Delivery,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(note, "on_settled", fail)
    settle(claim()[0], SENT)
    [record] = [r for r in caplog.records if r.message == "kind could not follow its delivery"]
    assert record.exc_info
    assert record.__dict__["delivery"] == delivery.pk


def test_one_that_fails_does_not_keep_the_others_from_being_told(
    note: Note, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, *good = note.request_many(organization, 3)
    told = []

    def on_settled(delivery: Delivery) -> None:
        if delivery == bad:
            break_the_statement(delivery)
        told.append(delivery)

    monkeypatch.setattr(note, "on_settled", on_settled)
    ledger.settle_batch([(each, SENT) for each in claim()], worker="worker-1", now=at(1))
    assert told == good
    assert {fresh(each).status for each in (bad, *good)} == {Status.SENT}


@pytest.mark.parametrize("loss", [lose_the_database, stand_still])
def test_where_the_database_fails_the_whole_is_to_be_tried_again(
    note: Note,
    delivery: Delivery,
    loss: Callable[[Delivery], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [held] = claim()
    before = everything()
    with monkeypatch.context() as broken:
        broken.setattr(note, "on_settled", loss)
        with pytest.raises(DATABASE_TROUBLE):
            settle(held, SENT)
    assert everything() == before
    settle(held, SENT)
    assert note.settled == [(delivery.pk, Status.SENT)]


def test_a_kind_is_told_of_final_states_alone(note: Note, organization: Organization) -> None:
    note.request_many(organization, 2)
    first, second = claim()
    ledger.release([first], why="stopping", worker="worker-1", now=at(1))
    assert note.settled == []
    settle(second, REFUSED)
    assert note.settled == [(second.delivery_id, Status.DEAD)]


@pytest.mark.parametrize("bug", BUGS)
def test_a_kind_that_fails_does_not_undo_a_burial(
    note: Note, delivery: Delivery, bug: Callable[[Delivery], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note, "on_settled", bug)
    claim()
    claim("worker-2", now=at(60), max_claims=1)
    assert fresh(delivery).status == Status.DEAD


@pytest.mark.parametrize("bug", BUGS)
def test_a_kind_that_fails_does_not_undo_a_persons_decision(
    note: Note,
    delivery: Delivery,
    support: User,
    bug: Callable[[Delivery], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(note, "on_settled", bug)
    monkeypatch.setattr(note, "on_replayed", bug)
    settle(claim()[0], REFUSED)
    replay(delivery, support.pk, now=at(60))
    assert fresh(delivery).status == Status.QUEUED
    ledger.cancel(delivery.pk, actor_id=support.pk, why="sent by post", now=at(61))
    assert fresh(delivery).status == Status.CANCELLED


def test_a_kind_forgotten_meanwhile_does_not_undo_that_it_was_sent(
    note: Note, delivery: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    [held] = claim()
    monkeypatch.delitem(kinds._kinds, "note")
    settle(held, SENT)
    assert fresh(delivery).status == Status.SENT
