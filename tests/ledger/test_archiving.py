"""What is long over is moved out of the way, and stays known: facts, keys, timelines."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test import Client

from deliveries import kinds, ledger, tracing
from deliveries.ledger import Archived, Sum, Wanted
from deliveries.models import Delivery, DeliveryEvent, Message, ProviderEvent
from deliveries.reports import Report
from invoices import agreeing, resending, sending
from invoices.models import Invoice, Organization
from invoices.sending import send
from tests import factories
from tests.ledger.programs import Programs, in_transaction, result
from tests.ledger.steps import (
    REFUSED,
    SENT,
    Status,
    Type,
    at,
    bring_to,
    claim_one,
    click_on_send,
    events,
    fresh,
    hand_over,
    settle,
)

DAYS_90 = timedelta(days=90)
LATER = at(days=100)


def archive(**values: object) -> Archived:
    """Run the archiver a hundred days later; return what it moved."""
    order: dict[str, Any] = {"older_than": DAYS_90, "now": LATER} | values
    *_, moved = [Archived(deliveries=0, events=0), *ledger.archive(**order)]
    return moved


def archived() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM deliveries_archiveddelivery ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


@pytest.fixture
def sent(delivery: Delivery) -> Delivery:
    claim = claim_one()
    hand_over(claim)
    settle(claim, SENT, now=at(2))
    return fresh(delivery)


# What is moved -----------------------------------------------------------------------------------


def test_a_delivery_is_archived_with_its_timeline_and_reads_as_before(sent: Delivery) -> None:
    before = Delivery.objects.values().get(), list(DeliveryEvent.objects.values())
    assert archive() == Archived(deliveries=1, events=2)
    assert archived() == [sent.pk]
    assert (Delivery.objects.values().get(), list(DeliveryEvent.objects.values())) == before


@pytest.mark.parametrize("status", ["queued", "running", "retrying", "dead"])
def test_what_waits_for_a_worker_or_a_person_is_never_archived(
    delivery: Delivery, status: str
) -> None:
    if status == "running":
        claim_one()
    elif status != "queued":
        bring_to(delivery, status)
    archive(now=at(days=4_000))
    assert archived() == []


def test_a_cancelled_delivery_is_archived(delivery: Delivery) -> None:
    bring_to(delivery, Status.CANCELLED)
    assert archive().deliveries == 1


def test_what_was_over_ninety_days_ago_to_the_second_still_stays(sent: Delivery) -> None:
    archive(now=at(2, days=90))
    assert archived() == []
    archive(now=at(2.001, days=90))
    assert archived() == [sent.pk]


def test_while_an_invoice_has_a_dead_letter_its_story_stays_together(
    sent: Delivery, invoice: Invoice
) -> None:
    dead = factories.make_delivery(invoice, key="invoice:1:again:1")
    bring_to(dead, Status.DEAD)
    archive()
    assert archived() == []
    ledger.cancel(dead.pk, actor_id=None, why="settled by telephone", now=at(3))
    archive()
    assert archived() == [sent.pk, dead.pk]


def test_one_whose_invoice_has_not_followed_yet_stays(sent: Delivery) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO deliveries_unfolloweddelivery VALUES (%s, now())", [sent.pk])
    archive()
    assert archived() == []


def test_nothing_younger_than_a_day_is_archived(db: None) -> None:
    with pytest.raises(ValueError, match="a day"):
        archive(older_than=timedelta(hours=23))


def test_a_run_that_was_stopped_is_continued_by_the_next(organization: Organization) -> None:
    for _ in range(5):
        bring_to(factories.make_delivery(factories.make_invoice(organization)), Status.SENT)
    steps = ledger.archive(older_than=DAYS_90, at_once=2, now=LATER)
    next(steps)
    steps.close()
    assert len(archived()) == 2
    assert archive(at_once=2).deliveries == 3
    assert archive(at_once=2).deliveries == 0


def test_a_row_that_cannot_be_archived_undoes_its_whole_transaction(sent: Delivery) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO deliveries_archiveddelivery SELECT * FROM deliveries_delivery")
    with pytest.raises(IntegrityError), transaction.atomic():
        archive()
    assert [each.what for each in ledger.contradictions()][:3] == [
        "an intent has two deliveries, one of them archived",
        "a delivery is both live and archived",
        "two deliveries share an idempotency key",
    ]


def test_the_archive_takes_nothing_that_is_not_over(delivery: Delivery) -> None:
    with pytest.raises(IntegrityError, match="archived_is_over"), connection.cursor() as cursor:
        cursor.execute("INSERT INTO deliveries_archiveddelivery SELECT * FROM deliveries_delivery")


# What stays true ---------------------------------------------------------------------------------


def test_a_click_on_an_archived_invoice_sends_nothing(
    sent: Delivery, invoice: Invoice, owner: User
) -> None:
    archive()
    assert click_on_send(invoice, owner) == sent.pk
    assert events(sent) == [Type.REQUESTED, Type.SENT, Type.REQUESTED_AGAIN]
    assert archived() == [sent.pk]


def test_a_schedule_that_names_an_archived_intent_again_makes_nothing(
    sent: Delivery, invoice: Invoice
) -> None:
    archive()
    wanted = Wanted(
        organization_id=invoice.organization_id,
        invoice_id=invoice.pk,
        dedupe_key=sent.dedupe_key,
        reference=invoice.number,
    )
    assert ledger.request_many([wanted], kind=kinds.get("invoice")) == 0


def test_sending_an_archived_invoice_again_is_a_new_intent(
    sent: Delivery, invoice: Invoice, owner: User
) -> None:
    archive()
    again = resending.send_again(
        invoice.pk,
        number=sending.times_requested(invoice),
        reason="lost",
        organization=invoice.organization,
        user_id=owner.pk,
    )
    assert again.dedupe_key == f"invoice:{invoice.pk}:again:1"


def test_an_archived_cancelled_e_mail_can_be_sent_under_the_next_key(
    delivery: Delivery, invoice: Invoice, owner: User
) -> None:
    bring_to(delivery, Status.CANCELLED)
    archive()
    made = send(invoice.pk, organization=invoice.organization, user_id=owner.pk)
    assert made.dedupe_key == f"invoice:{invoice.pk}:again:1"


def test_a_bounce_reaches_an_archived_delivery(sent: Delivery) -> None:
    archive()
    assert ledger.report(bounce(), now=LATER)
    assert fresh(sent).after_sending == "bounced"
    assert events(sent)[-1] == Type.BOUNCED
    assert ProviderEvent.objects.get().delivery_id == sent.pk
    assert archived() == [sent.pk]


def bounce() -> Report:
    return Report(
        event_id="evt-1",
        type="email.bounced",
        provider_message_id="msg-41",
        outcome=Delivery.AfterSending.BOUNCED,
        at=LATER,
        reason="no such mailbox",
    )


@pytest.mark.parametrize("term", ["INV-0001", "msg-41", "accounts@mamaput.example"])
def test_search_finds_an_archived_delivery(sent: Delivery, term: str) -> None:
    archive()
    [trace] = tracing.search(term).traces
    assert [step.label for step in trace.steps] == ["Requested", "Sent"]


def test_pages_and_the_api_show_an_archived_delivery(
    client: Client, sent: Delivery, invoice: Invoice, owner: User
) -> None:
    client.force_login(owner)
    before = client.get(f"/invoices/{invoice.pk}").content
    archive()
    after = client.get(f"/invoices/{invoice.pk}").content
    assert b"msg-41" in before
    assert b"msg-41" in after
    assert client.get(f"/deliveries/{sent.pk}").json()["status"] == "sent"


def test_live_and_archived_are_what_was_requested(
    sent: Delivery, organization: Organization
) -> None:
    factories.make_delivery(factories.make_invoice(organization))
    archive()
    assert ledger.sum_up() == Sum(live=1, archived=1, requested=2)
    assert ledger.sum_up().balances
    assert [*ledger.contradictions(), *agreeing.contradictions()] == []


def test_the_archive_has_every_column_of_the_ledger(db: None) -> None:
    for live, gone in (("delivery", "archiveddelivery"), ("deliveryevent", "archivedevent")):
        assert columns_of(f"deliveries_{gone}") == columns_of(f"deliveries_{live}")


def columns_of(table: str) -> list[str]:
    with connection.cursor() as cursor:
        return [
            column.name for column in connection.introspection.get_table_description(cursor, table)
        ]


# Two at once -------------------------------------------------------------------------------------


def test_a_click_while_its_row_is_being_archived_finds_it_and_sends_nothing(
    program: Programs, sent: Delivery, invoice: Invoice, owner: User
) -> None:
    archiver, person = program(), program()
    archiver.begin()
    assert archiver.do(archive).deliveries == 1
    waiting = person.start(click_on_send, invoice, owner)
    person.wait_until_blocked()
    archiver.commit()
    assert result(waiting) == sent.pk
    assert archived() == [sent.pk]
    assert events(sent) == [Type.REQUESTED, Type.SENT, Type.REQUESTED_AGAIN]


def test_a_row_that_is_being_clicked_on_is_left_for_the_next_run(
    program: Programs, sent: Delivery, invoice: Invoice, owner: User
) -> None:
    person = program()
    person.begin()
    person.do(click_on_send, invoice, owner)
    assert archive().deliveries == 0
    person.commit()
    assert archive() == Archived(deliveries=1, events=3)


def test_two_archivers_share_the_work(program: Programs, sent: Delivery) -> None:
    first, second = program(), program()
    first.begin()
    assert first.do(archive).deliveries == 1
    assert second.do(archive).deliveries == 0
    first.commit()
    assert archived() == [sent.pk]


def test_a_bounce_while_its_row_is_being_archived_is_not_lost(
    program: Programs, sent: Delivery
) -> None:
    archiver, provider = program(), program()
    archiver.begin()
    archiver.do(archive)
    waiting = provider.start(in_transaction, ledger.report, bounce(), now=LATER)
    provider.wait_until_blocked()
    archiver.commit()
    assert result(waiting)
    assert fresh(sent).after_sending == "bounced"
    assert events(sent)[-1] == Type.BOUNCED
    assert ledger.sum_up().balances


# Contents of messages ----------------------------------------------------------------------------


def drop(now: datetime) -> int:
    *_, count = [0, *ledger.drop_contents(older_than=timedelta(days=365), now=now)]
    return count


@pytest.fixture
def old_message(sent: Delivery) -> Message:
    message = Message.objects.get()
    Message.objects.update(created_at=at())
    return message


@pytest.mark.parametrize("is_archived", [False, True])
def test_an_old_messages_content_is_dropped_and_its_envelope_kept(
    old_message: Message, is_archived: bool
) -> None:
    if is_archived:
        archive()
    assert drop(at(days=364)) == 0
    assert drop(at(days=366)) == 1
    assert drop(at(days=366)) == 0
    kept = Message.objects.get()
    assert (kept.text, kept.html, kept.attachments) == ("", "", [])
    assert kept.content_dropped_at == at(days=366)
    assert (kept.to, kept.subject, kept.headers) == (
        old_message.to,
        old_message.subject,
        old_message.headers,
    )


def test_a_message_that_may_go_out_again_keeps_its_content(delivery: Delivery) -> None:
    claim = claim_one()
    hand_over(claim)
    settle(claim, REFUSED, now=at(2))
    Message.objects.update(created_at=at())
    assert drop(at(days=4_000)) == 0
