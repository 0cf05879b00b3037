"""Sending many at once: each invoice in exactly one delivery, the others with a reason."""

import threading
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from deliveries import kinds, ledger
from deliveries.models import Delivery, DeliveryEvent, Mailbox
from invoices import bulk_sending, forecasts, sending
from invoices.bulk_sending import NothingChosen, TooMany
from invoices.models import Batch, BatchItem, Customer, Invoice, Organization
from invoices.problems import Kind
from tests import factories

ONCE = uuid.UUID("00000000-0000-4000-8000-000000000001")


def send_many(invoices: Sequence[Invoice], user: User, once: uuid.UUID = ONCE) -> Batch:
    return bulk_sending.send_many(
        [invoice.pk for invoice in invoices],
        organization=invoices[0].organization,
        user_id=user.pk,
        once=once,
        chosen="Ticked",
    )


def make_invoices(organization: Organization, count: int, **values: Any) -> list[Invoice]:
    return [factories.make_invoice(organization, **values) for _ in range(count)]


def counts(batch: Batch) -> tuple[int, int, int]:
    batch.refresh_from_db()
    return batch.queued, batch.skipped, batch.pending


def reason(invoice: Invoice) -> tuple[str, str]:
    item = BatchItem.objects.get(invoice=invoice)
    assert item.delivery_id is None
    return item.skipped, item.reason


def test_all_drafts_are_queued_by_one_call(organization: Organization, owner: User) -> None:
    batch = send_many(make_invoices(organization, 3), owner)
    assert counts(batch) == (3, 0, 0)
    assert set(Invoice.objects.values_list("status", flat=True)) == {"sending"}
    made = Delivery.objects.values_list("invoice_id", "dedupe_key", "requested_by", "status")
    assert all(row == (row[0], f"invoice:{row[0]}", owner.pk, "queued") for row in made)
    items = dict(batch.items.values_list("invoice_id", "delivery_id"))
    assert items == dict(Delivery.objects.values_list("invoice_id", "pk"))
    assert DeliveryEvent.objects.filter(type="requested", actor=owner).count() == 3


def test_the_send_button_afterwards_returns_the_same_delivery(
    organization: Organization, owner: User, invoice: Invoice
) -> None:
    send_many([invoice], owner)
    delivery = sending.send(invoice.pk, organization=organization, user_id=owner.pk)
    assert delivery == Delivery.objects.get()


@pytest.mark.parametrize(
    ("values", "why", "sentence"),
    [
        ({"status": "sent"}, "sent", "It is sent already."),
        ({"status": "paid"}, "paid", "It is paid."),
        ({"status": "void"}, "void", "It is void."),
        ({"status": "sending"}, "under_way", "It is on its way already."),
        ({"amount_minor": None}, "problem", "The invoice has no amount: enter its lines."),
        ({"email": ""}, "problem", "Mama Put Kitchen has no e-mail address: enter one."),
        ({"email": "a@b, c@d"}, "problem", "“a@b, c@d” is not one address: correct it."),
    ],
)
def test_what_cannot_be_sent_is_skipped_with_the_reason(
    organization: Organization, owner: User, values: dict[str, Any], why: str, sentence: str
) -> None:
    good, bad = (
        factories.make_invoice(organization),
        factories.make_invoice(organization, **values),
    )
    batch = send_many([good, bad], owner)
    assert counts(batch) == (1, 1, 0)
    assert reason(bad)[0] == why
    assert reason(bad)[1].startswith(sentence)
    assert Delivery.objects.get().invoice == good
    assert Invoice.objects.get(pk=bad.pk).status == bad.status


def test_one_that_failed_is_left_for_support_and_keeps_its_reason(
    organization: Organization, owner: User, invoice: Invoice, delivery: Delivery
) -> None:
    Delivery.objects.update(
        status="dead", dead_reason="rejected", last_error="No.", finished_at=factories.NOW
    )
    Invoice.objects.update(status="failed", failure_reason="No such mailbox.")
    batch = send_many([invoice], owner)
    assert counts(batch) == (0, 1, 0)
    assert reason(invoice) == (
        "not_sent",
        "It was not sent before, and waits for support: No such mailbox.",
    )


def test_after_a_cancelled_delivery_it_is_a_new_promise(
    organization: Organization, owner: User, invoice: Invoice, delivery: Delivery
) -> None:
    ledger.cancel(delivery.pk, actor_id=owner.pk, why="A mistake.")
    assert Invoice.objects.get().status == "failed"
    assert counts(send_many([invoice], owner)) == (1, 0, 0)
    assert Delivery.objects.filter(dedupe_key=f"invoice:{invoice.pk}:again:1").count() == 1
    invoice.refresh_from_db()
    assert (invoice.status, invoice.failure_reason) == ("sending", "")


def test_a_double_click_is_one_batch(organization: Organization, owner: User) -> None:
    invoices = make_invoices(organization, 2)
    assert send_many(invoices, owner) == send_many(invoices, owner)
    assert Batch.objects.count() == 1
    assert Delivery.objects.count() == 2


def test_a_second_batch_of_the_same_invoices_skips_them_all(
    organization: Organization, owner: User
) -> None:
    invoices = make_invoices(organization, 2)
    send_many(invoices, owner)
    second = send_many(invoices, owner, uuid.uuid4())
    assert counts(second) == (0, 2, 0)
    assert Delivery.objects.count() == 2


def test_the_same_id_in_two_organizations_is_two_batches(
    organization: Organization, owner: User, outsider: User
) -> None:
    elsewhere = Organization.objects.get(slug="nordlicht")
    here = send_many([factories.make_invoice(organization)], owner)
    there = send_many([factories.make_invoice(elsewhere)], outsider)
    assert here != there


def test_another_organizations_invoices_are_not_there(
    organization: Organization, owner: User, outsider: User
) -> None:
    elsewhere = Organization.objects.get(slug="nordlicht")
    foreign, own = factories.make_invoice(elsewhere), factories.make_invoice(organization)
    batch = bulk_sending.send_many(
        [foreign.pk, own.pk], organization=organization, user_id=owner.pk, once=ONCE, chosen="x"
    )
    assert counts(batch) == (1, 0, 0)
    assert Delivery.objects.get().invoice == own
    with pytest.raises(NothingChosen):
        bulk_sending.send_many(
            [foreign.pk],
            organization=organization,
            user_id=owner.pk,
            once=uuid.uuid4(),
            chosen="x",
        )


def test_a_choice_beyond_the_limit_is_refused(
    organization: Organization, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_sending, "LIMIT", 2)
    invoices = make_invoices(organization, 3)
    with pytest.raises(TooMany, match="At most 2 invoices"):
        send_many(invoices, owner)
    assert not Batch.objects.exists()
    assert counts(send_many(invoices[:2], owner)) == (2, 0, 0)


def test_after_a_crash_between_chunks_the_next_click_goes_on(
    organization: Organization, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_sending, "CHUNK", 2)
    invoices = make_invoices(organization, 5)
    chunks = iter([True])

    def crash(invoices: object, *, user_id: int) -> dict[int, int]:
        next(chunks)
        return promise(invoices, user_id=user_id)  # type: ignore[arg-type]

    promise = bulk_sending._promise
    with monkeypatch.context() as patch:
        patch.setattr(bulk_sending, "_promise", crash)
        with pytest.raises(StopIteration):
            send_many(invoices, owner)
    [batch] = Batch.objects.all()
    assert counts(batch) == (2, 0, 3)
    assert Delivery.objects.count() == 2
    assert Invoice.objects.filter(status="draft").count() == 3
    assert send_many(invoices, owner) == batch
    assert counts(batch) == (5, 0, 0)
    assert Delivery.objects.count() == 5


def test_a_draft_thrown_away_before_its_turn_is_no_longer_waited_for(
    organization: Organization, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make_invoices(organization, 2)
    with monkeypatch.context() as patch:
        patch.setattr(bulk_sending, "_chunk", lambda batch_id: False)
        batch = send_many([first, second], owner)
    assert counts(batch) == (0, 0, 2)
    second.delete()
    bulk_sending.proceed(batch)
    assert counts(batch) == (1, 0, 0)


def test_people_who_send_overlapping_choices_at_once_make_one_delivery_each(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_sending, "CHUNK", 3)
    organization = factories.make_organization()
    owner = factories.make_member(organization, "owner", "owner")
    invoices = make_invoices(organization, 20)
    choices = [invoices[:15], invoices[5:], list(reversed(invoices)), invoices[:1] * 3]
    batches: list[Batch] = []

    def click(choice: list[Invoice]) -> None:
        try:
            batches.append(send_many(choice, owner, uuid.uuid4()))
        finally:
            connection.close()

    threads = [threading.Thread(target=click, args=(choice,)) for choice in choices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(batches) == 4
    assert Delivery.objects.count() == 20
    assert sum(batch.queued for batch in batches) == 20
    assert not any(batch.pending for batch in batches)


def test_a_double_click_at_once_is_one_batch(transactional_db: None) -> None:
    organization = factories.make_organization()
    owner = factories.make_member(organization, "owner", "owner")
    invoices = make_invoices(organization, 10)
    batches: list[Batch] = []

    def click() -> None:
        try:
            batches.append(send_many(invoices, owner))
        finally:
            connection.close()

    threads = [threading.Thread(target=click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(batches) == 4
    assert len({batch.pk for batch in batches}) == Batch.objects.count() == 1
    assert counts(batches[0]) == (10, 0, 0)
    assert Delivery.objects.count() == 10


def test_what_is_foreseen_is_what_happens(organization: Organization, owner: User) -> None:
    invoices = [
        *make_invoices(organization, 2),
        factories.make_invoice(organization, currency="EUR", amount_minor=1_000),
        factories.make_invoice(organization, status="paid"),
        factories.make_invoice(organization, email=""),
    ]
    forecast = forecasts.foresee([invoice.pk for invoice in invoices])
    assert forecast.ready == 3
    assert {why: group.count for why, group in forecast.skipped.items()} == {
        BatchItem.Skipped.PAID: 1,
        Kind.NO_ADDRESS: 1,
    }
    assert forecast.totals == {"EUR": 1_000, "NGN": 9_000_000}
    assert forecast.first == invoices[:3]
    assert counts(send_many(invoices, owner)) == (3, 2, 0)


@pytest.mark.thorough
def test_ten_thousand_are_a_few_statements_for_each_chunk(
    organization: Organization,
    owner: User,
    django_assert_max_num_queries: Any,
) -> None:
    customer = Customer.objects.create(organization=organization, name="C", email="c@d.example")
    invoices = Invoice.objects.bulk_create(
        Invoice(
            organization=organization,
            customer=customer,
            number=f"N-{number}",
            currency="NGN",
            amount_minor=100,
            issued_on="2026-03-02",
            due_on="2026-03-16",
        )
        for number in range(300)
    )
    kinds.get("invoice")
    with django_assert_max_num_queries(40):
        assert counts(send_many(invoices, owner)) == (300, 0, 0)


@pytest.mark.parametrize("values", [{"customer_name": " "}, {"email": "nobody"}])
def test_what_the_single_send_only_warns_of_is_sent(
    organization: Organization, owner: User, values: dict[str, Any]
) -> None:
    batch = send_many(make_invoices(organization, 1, **values), owner)
    assert counts(batch) == (1, 0, 0)


def test_the_forecast_counts_each_reason_and_warning_with_ten_examples(
    organization: Organization,
) -> None:
    chosen = [
        *make_invoices(organization, 2),
        *make_invoices(organization, 12, customer_name=""),
        *make_invoices(organization, 11, amount_minor=None),
        *make_invoices(organization, 1, status="paid"),
    ]
    forecast = forecasts.foresee([invoice.pk for invoice in chosen])
    assert (forecast.ready, len(forecast.first)) == (14, 10)
    assert forecast.totals == {"NGN": 14 * 4_500_000}
    warned = {kind: (group.count, len(group.examples)) for kind, group in forecast.warned.items()}
    assert warned == {Kind.NO_NAME: (12, 10)}
    skipped = {why: (group.count, len(group.examples)) for why, group in forecast.skipped.items()}
    assert skipped == {Kind.NO_AMOUNT: (11, 10), BatchItem.Skipped.PAID: (1, 1)}


def test_the_forecast_warns_of_an_address_from_which_e_mails_came_back(
    invoice: Invoice, organization: Organization
) -> None:
    Mailbox.objects.create(
        organization=organization,
        address="accounts@mamaput.example",
        came_back_at=factories.NOW,
        came_back_as="bounced",
        came_back_reason="no such mailbox",
    )
    forecast = forecasts.foresee([invoice.pk])
    assert (forecast.ready, [*forecast.warned]) == (1, [Kind.CAME_BACK])
