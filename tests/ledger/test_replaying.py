import pytest
from django.contrib.auth.models import User
from django.db import connection

from deliveries import correlation, kinds, ledger
from deliveries.errors import WrongState
from deliveries.models import Delivery
from invoices.models import Invoice, Organization
from tests.ledger.note import Note
from tests.ledger.steps import (
    KEY_LIFETIME,
    REFUSED,
    RETRY,
    SENT,
    Status,
    Type,
    at,
    bring_to,
    claim,
    claim_one,
    claimed_ids,
    columns,
    everything,
    fresh,
    invoice_of,
    last_event,
    make_deliveries,
    replay,
    settle,
)


def replay_many(ids: list[int], actor: User, *, now: float = 60) -> ledger.Batch:
    return ledger.replay_many(
        ids,
        actor_id=actor.pk,
        reason="the address was corrected",
        key_lifetime=KEY_LIFETIME,
        now=at(now),
    )


def test_a_dead_letter_is_put_back_with_full_budgets(delivery: Delivery, support: User) -> None:
    settle(claim_one(), RETRY)
    ledger.wake_due("email", now=at(5))
    settle(claim_one(now=at(5)), REFUSED)
    replay(delivery, support.pk, now=at(60))
    expected = {
        "status": Status.QUEUED,
        "claims": 0,
        "attempts": 0,
        "dead_reason": "",
        "last_error": "",
        "finished_at": None,
        "next_attempt_at": None,
    }
    assert columns(delivery, *expected) == expected


def test_a_replay_never_resets_the_lease_token(delivery: Delivery, support: User) -> None:
    bring_to(delivery, Status.DEAD)
    replay(delivery, support.pk, now=at(60))
    assert fresh(delivery).lease_token == 1
    assert claim_one(now=at(61)).token == 2


def test_the_timeline_says_who_replayed_it_and_why(delivery: Delivery, support: User) -> None:
    bring_to(delivery, Status.DEAD)
    with correlation.bound(correlation_id="req-77"):
        replay(delivery, support.pk, now=at(60))
    event = last_event(delivery)
    assert event.type == Type.REPLAYED
    assert event.sentence == "Put back to be sent again: the address was corrected"
    assert (event.actor_id, event.at, event.attempt) == (support.pk, at(60), None)
    assert event.correlation_id == "req-77"
    assert event.details == {"same_message": False, "confirmed": False, "batch_of": 1}


def test_a_replay_keeps_the_deliverys_own_correlation_id(delivery: Delivery, support: User) -> None:
    bring_to(delivery, Status.DEAD)
    with correlation.bound(correlation_id="req-77"):
        replay(delivery, support.pk, now=at(60))
    assert fresh(delivery).correlation_id == delivery.correlation_id != "req-77"


@pytest.mark.parametrize("status", sorted(set(Status.values) - {Status.DEAD}))
def test_only_the_dead_are_replayed(delivery: Delivery, support: User, status: str) -> None:
    bring_to(delivery, status)
    before = everything()
    with pytest.raises(WrongState, match="Not replayed: already"):
        replay(delivery, support.pk, confirmed=True, now=at(60))
    assert everything() == before


def test_what_does_not_exist_is_not_replayed(delivery: Delivery, support: User) -> None:
    delivery.pk = 10**12
    with pytest.raises(WrongState, match="it does not exist"):
        replay(delivery, support.pk, now=at(60))


def test_a_second_click_on_replay_changes_nothing(delivery: Delivery, support: User) -> None:
    bring_to(delivery, Status.DEAD)
    replay(delivery, support.pk, now=at(60))
    before = everything()
    with pytest.raises(WrongState, match="already waiting"):
        replay(delivery, support.pk, now=at(61))
    assert everything() == before


def test_the_invoice_is_being_sent_again(delivery: Delivery, support: User) -> None:
    bring_to(delivery, Status.DEAD)
    replay(delivery, support.pk, now=at(60))
    assert invoice_of(delivery).status == "sending"
    assert invoice_of(delivery).failure_reason == ""


@pytest.mark.parametrize("status", ["paid", "void", "sent"])
def test_a_replay_moves_no_invoice_but_a_failed_one(
    delivery: Delivery, support: User, status: str
) -> None:
    bring_to(delivery, Status.DEAD)
    Invoice.objects.filter(pk=delivery.invoice_id).update(status=status)
    replay(delivery, support.pk, now=at(60))
    assert invoice_of(delivery).status == status


def test_a_stale_worker_cannot_settle_what_was_replayed(delivery: Delivery, support: User) -> None:
    stale = claim_one()
    claim("worker-2", now=at(60), max_claims=1)
    replay(delivery, support.pk, now=at(61))
    before = everything()
    assert ledger.settle_batch([(stale, SENT)], worker="worker-1", now=at(62)) == [stale]
    assert everything() == before


def test_a_replayed_delivery_joins_the_queue_anew(
    organization: Organization, support: User
) -> None:
    [dead] = make_deliveries(organization, 1)
    bring_to(dead, Status.DEAD)
    others = make_deliveries(organization, 2)
    replay(dead, support.pk, now=at(60))
    assert claimed_ids(claim(now=at(61))) == [others[0].pk, others[1].pk, dead.pk]


def test_many_are_replayed_and_the_rest_told_why_not(
    organization: Organization, support: User
) -> None:
    dead, sent, missing = *make_deliveries(organization, 2), 10**12
    settle(claim_one(), REFUSED)
    settle(claim_one(), SENT)
    batch = replay_many([missing, sent.pk, dead.pk, dead.pk], support)
    assert batch.done == (dead.pk,)
    assert batch.skipped == {sent.pk: "already sent", missing: "it does not exist"}
    assert (fresh(dead).status, fresh(sent).status) == (Status.QUEUED, Status.SENT)
    assert dead.events.filter(type=Type.REPLAYED).count() == 1


def test_the_replayed_of_one_flow_keep_their_order(
    note: Note, organization: Organization, support: User
) -> None:
    notes = note.request_many(organization, 3)
    invoices = make_deliveries(organization, 2)
    for held in claim():
        settle(held, REFUSED)
    batch = replay_many([each.pk for each in (*invoices, *reversed(notes))], support)
    assert set(batch.done) == {each.pk for each in (*notes, *invoices)}
    order = claimed_ids(claim(now=at(61)))
    assert [pk for pk in order if pk in {each.pk for each in notes}] == [n.pk for n in notes]
    assert order[:2] == [each.pk for each in invoices]
    assert note.replayed == [each.pk for each in notes]


def test_a_kind_that_this_version_does_not_know_is_put_back_all_the_same(
    delivery: Delivery, support: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring_to(delivery, Status.DEAD)
    monkeypatch.delitem(kinds._kinds, "invoice")
    replay(delivery, support.pk, now=at(60))
    assert fresh(delivery).status == Status.QUEUED


def test_no_ids_are_no_work(support: User) -> None:
    assert replay_many([], support) == ledger.Batch(done=(), skipped={})


@pytest.mark.usefixtures("transactional_db")
def test_a_replay_wakes_the_lanes_listeners(delivery: Delivery, support: User) -> None:
    bring_to(delivery, Status.DEAD)
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {ledger.CHANNEL}")
    replay(delivery, support.pk, now=at(60))
    [notice] = connection.connection.notifies(timeout=10, stop_after=1)
    assert notice.payload == "email"
