import pytest
from django.contrib.auth.models import User

from deliveries import correlation, ledger
from deliveries.errors import LeaseLost, WrongState
from deliveries.models import Delivery
from invoices.models import Organization
from tests.ledger.note import Note
from tests.ledger.steps import (
    SENT,
    Status,
    Type,
    at,
    bring_to,
    claim,
    claim_one,
    columns,
    everything,
    fresh,
    invoice_of,
    last_event,
    make_deliveries,
    settle,
)

WHY = "Cancelled by support: sent by post."


def cancel(delivery: Delivery, actor: User | None = None) -> None:
    ledger.cancel(delivery.pk, actor_id=actor.pk if actor else None, why=WHY, now=at(60))


@pytest.mark.parametrize("status", [Status.QUEUED, Status.RETRYING, Status.DEAD])
def test_what_waits_or_is_dead_can_be_cancelled(delivery: Delivery, status: str) -> None:
    bring_to(delivery, status)
    cancel(delivery)
    expected = {
        "status": Status.CANCELLED,
        "finished_at": at(60),
        "next_attempt_at": None,
        "dead_reason": "",
        "last_error": WHY,
        "lease_token": 1,
    }
    assert columns(delivery, *expected) == expected


@pytest.mark.parametrize("status", [Status.RUNNING, Status.SENT, Status.CANCELLED])
def test_what_runs_or_is_final_cannot(delivery: Delivery, status: str) -> None:
    bring_to(delivery, status)
    before = everything()
    with pytest.raises(WrongState, match="Not cancelled: already"):
        cancel(delivery)
    assert everything() == before


def test_what_does_not_exist_is_not_cancelled(delivery: Delivery) -> None:
    delivery.pk = 10**12
    with pytest.raises(WrongState, match="it does not exist"):
        cancel(delivery)


def test_the_timeline_says_who_cancelled_it_and_why(delivery: Delivery, support: User) -> None:
    with correlation.bound(correlation_id="req-78"):
        cancel(delivery, support)
    event = last_event(delivery)
    assert (event.type, event.sentence) == (Type.CANCELLED, WHY)
    assert (event.actor_id, event.at, event.correlation_id) == (support.pk, at(60), "req-78")
    assert (event.attempt, event.worker) == (None, "")


def test_the_program_itself_may_cancel(delivery: Delivery) -> None:
    cancel(delivery)
    assert last_event(delivery).actor_id is None


def test_the_invoice_says_why_it_was_not_sent(delivery: Delivery) -> None:
    cancel(delivery)
    assert (invoice_of(delivery).status, invoice_of(delivery).failure_reason) == ("failed", WHY)


def test_an_invoice_always_has_a_reason_for_not_being_sent(delivery: Delivery) -> None:
    ledger.cancel(delivery.pk, actor_id=None, why="", now=at(60))
    assert invoice_of(delivery).failure_reason == "It was cancelled."


def test_what_was_cancelled_is_never_claimed(delivery: Delivery) -> None:
    cancel(delivery)
    ledger.wake_due("email", now=at(hours=1))
    assert claim(now=at(hours=1)) == []


def test_a_worker_that_lost_it_cannot_undo_a_cancellation(delivery: Delivery) -> None:
    stale = claim_one()
    claim("worker-2", now=at(60), max_claims=1)
    cancel(delivery)
    before = everything()
    with pytest.raises(LeaseLost):
        settle(stale, SENT, now=at(61))
    assert everything() == before


def test_many_are_cancelled_and_the_rest_told_why_not(
    organization: Organization, support: User
) -> None:
    running, sent, queued = make_deliveries(organization, 3)
    held = claim(capacity=2)
    settle(held[1], SENT)
    batch = ledger.cancel_many(
        [queued.pk, queued.pk, sent.pk, running.pk, 10**12],
        actor_id=support.pk,
        why=WHY,
        now=at(60),
    )
    assert batch.done == (queued.pk,)
    assert batch.skipped == {
        sent.pk: "already sent",
        running.pk: "already running",
        10**12: "it does not exist",
    }
    assert fresh(queued).status == Status.CANCELLED
    assert fresh(running).status == Status.RUNNING


def test_each_cancelled_delivery_is_told_to_its_kind(
    note: Note, organization: Organization
) -> None:
    notes = note.request_many(organization, 2)
    ledger.cancel_many([each.pk for each in notes], actor_id=None, why=WHY, now=at(60))
    assert note.settled == [(each.pk, Status.CANCELLED) for each in notes]


def test_no_ids_are_no_work(db: None) -> None:
    assert ledger.cancel_many([], actor_id=None, why=WHY) == ledger.Batch(done=(), skipped={})
