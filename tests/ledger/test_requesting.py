import re
from datetime import datetime

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from deliveries import correlation, kinds, ledger
from deliveries.models import Delivery, DeliveryEvent
from invoices.models import Invoice
from tests.ledger.note import Note
from tests.ledger.programs import in_transaction
from tests.ledger.steps import NOW, Status, Type, at, bring_to, events, last_event


def request(
    invoice: Invoice,
    key: str = "invoice:41",
    *,
    requested_by: int | None = None,
    now: datetime = NOW,
) -> ledger.Requested:
    return ledger.request(
        invoice,
        kind=kinds.get("invoice"),
        dedupe_key=key,
        reference=invoice.number,
        requested_by=requested_by,
        now=now,
    )


def test_a_request_makes_a_queued_delivery(invoice: Invoice) -> None:
    delivery, created = request(invoice)
    assert created
    assert delivery.organization_id == invoice.organization_id
    assert delivery.invoice_id == invoice.pk
    assert (delivery.kind, delivery.lane) == ("invoice", "email")
    assert (delivery.reference, delivery.dedupe_key) == ("INV-0001", "invoice:41")
    assert (delivery.status, delivery.created_at) == (Status.QUEUED, NOW)
    assert (delivery.claims, delivery.attempts, delivery.lease_token) == (0, 0, 0)
    assert delivery.handed_over_at is None


def test_a_request_begins_the_timeline(invoice: Invoice, support: User) -> None:
    with correlation.bound(correlation_id="req-41"):
        delivery = request(invoice, requested_by=support.pk).delivery
    assert (delivery.requested_by_id, delivery.correlation_id) == (support.pk, "req-41")
    event = delivery.events.get()
    assert (event.type, event.sentence) == (Type.REQUESTED, "Sending was requested.")
    assert (event.at, event.actor_id, event.correlation_id) == (NOW, support.pk, "req-41")
    assert (event.attempt, event.worker, event.details) == (None, "", {})


def test_a_request_by_no_person_has_a_correlation_id_of_its_own(invoice: Invoice) -> None:
    delivery = request(invoice).delivery
    assert delivery.requested_by_id is None
    assert re.fullmatch(r"[0-9a-f]{32}", delivery.correlation_id)
    assert last_event(delivery).correlation_id == delivery.correlation_id


def test_a_second_request_returns_the_first_row(invoice: Invoice, support: User) -> None:
    first = request(invoice).delivery
    with correlation.bound(correlation_id="req-42"):
        second, created = request(invoice, requested_by=support.pk, now=at(7))
    assert (second.pk, created) == (first.pk, False)
    assert second.correlation_id == first.correlation_id
    event = last_event(first)
    assert event.type == Type.REQUESTED_AGAIN
    assert event.sentence == "Sending was requested again; it had been requested already."
    assert (event.at, event.actor_id, event.correlation_id) == (at(7), support.pk, "req-42")


@pytest.mark.parametrize("status", Status.values)
def test_a_second_request_changes_no_state(
    delivery: Delivery, invoice: Invoice, status: str
) -> None:
    bring_to(delivery, status)
    before = Delivery.objects.values().get()
    assert request(invoice, delivery.dedupe_key).delivery.pk == delivery.pk
    assert Delivery.objects.values().get() == before


def test_another_key_is_another_intent(invoice: Invoice) -> None:
    first, second = request(invoice, "invoice:41"), request(invoice, "invoice:41:again:1")
    assert second.created
    assert first.delivery.pk != second.delivery.pk
    assert first.delivery.idempotency_key != second.delivery.idempotency_key


def test_the_key_for_the_provider_is_plain_and_never_made_twice(
    note: Note, invoice: Invoice
) -> None:
    made = [note.request(invoice, str(number)).idempotency_key for number in range(20)]
    assert len(set(made)) == 20
    assert all(re.fullmatch(r"delivery-[A-Za-z0-9._-]{1,55}", key) for key in made)


def test_a_promise_vanishes_with_the_change_that_it_belongs_to(invoice: Invoice) -> None:
    with transaction.atomic():
        request(invoice)
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()
    assert not DeliveryEvent.objects.exists()


@pytest.mark.usefixtures("transactional_db")
def test_a_request_insists_on_a_transaction(invoice: Invoice) -> None:
    with pytest.raises(transaction.TransactionManagementError, match=r"ledger\.request"):
        request(invoice)
    assert not Delivery.objects.exists()


@pytest.mark.usefixtures("transactional_db")
def test_a_commit_wakes_the_lanes_listeners(invoice: Invoice) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {ledger.CHANNEL}")
    in_transaction(request, invoice)
    [notice] = connection.connection.notifies(timeout=10, stop_after=1)
    assert (notice.channel, notice.payload) == ("deliveries_ready", "email")


def test_only_the_first_request_is_told_as_such(invoice: Invoice) -> None:
    requested = [request(invoice) for _ in range(3)]
    assert [each.created for each in requested] == [True, False, False]
    assert events(requested[0].delivery) == [
        Type.REQUESTED,
        Type.REQUESTED_AGAIN,
        Type.REQUESTED_AGAIN,
    ]
