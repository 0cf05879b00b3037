"""The main job: composed once, stored, handed over, recorded."""

import base64
import json
from contextlib import closing

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.template import engines

from deliveries import ledger
from deliveries.models import Delivery, DeliveryEvent, Message, ProviderEvent, WorkerPresence
from deliveries.providers import Receipt
from deliveries.providers.sandbox import SandboxProvider
from deliveries.sandbox import SandboxProvider as Sandbox
from invoices.emails import InvoiceEmail
from invoices.models import Customer, Invoice
from tests.providers.raw_server import Peer, RawServer, accepted, answering, refused
from tests.worker.conftest import Request, Start, Work
from tests.worker.stage import (
    FakeProvider,
    another_connection,
    change,
    events,
    eventually,
    invoice_of,
    is_sent,
    now,
    policy,
)

T = DeliveryEvent.Type


def test_a_requested_invoice_arrives_once_with_its_pdf_and_is_sent(
    sandbox: Sandbox, provider: SandboxProvider, start: Start, waiting: Delivery
) -> None:
    start(provider)
    eventually(lambda: is_sent(waiting))
    [kept] = sandbox.messages()
    sent = now(waiting)
    assert (sent.provider_message_id, sent.attempts, sent.claims) == (kept["id"], 1, 0)
    assert kept["idempotency_key"] == sent.idempotency_key
    assert kept["headers"] == {"X-Correlation-ID": sent.correlation_id}
    [pdf] = sandbox.message(kept["id"])["attachments"]
    assert pdf["filename"] == "INV-0001.pdf"
    assert base64.b64decode(pdf["content"]).startswith(b"%PDF-")
    assert invoice_of(waiting).status == Invoice.Status.SENT
    assert events(waiting) == [T.REQUESTED, T.SENT]


def test_ten_deliveries_are_sent_once_each(
    sandbox: Sandbox, provider: SandboxProvider, work: Work, request_delivery: Request
) -> None:
    wanted = [request_delivery() for _ in range(10)]
    work(provider, threads=3)
    assert all(is_sent(delivery) for delivery in wanted)
    assert {kept["idempotency_key"] for kept in sandbox.messages()} == {
        delivery.idempotency_key for delivery in wanted
    }
    assert sandbox.stats()["requests"] == 10


def test_the_message_is_committed_before_the_first_byte_leaves(
    work: Work, waiting: Delivery
) -> None:
    seen: list[tuple[object, ...]] = []

    def send(message: Message, key: str) -> Receipt:
        assert not connection.in_atomic_block
        if connection.connection is not None:
            state = connection.connection.info.transaction_status
            assert state == psycopg.pq.TransactionStatus.IDLE
        with another_connection() as other:
            seen.extend(
                other.execute(
                    "SELECT m.subject, m.idempotency_key, d.status, d.handed_over_at IS NOT NULL "
                    "FROM deliveries_message m JOIN deliveries_delivery d ON d.id = m.delivery_id"
                ).fetchall()
            )
        return Receipt(id="msg_1")

    work(FakeProvider(send))
    assert seen == [
        ("Invoice INV-0001 from Mainland Supplies Ltd", waiting.idempotency_key, "running", True)
    ]
    assert is_sent(waiting)


def test_no_row_is_locked_while_the_provider_is_asked(work: Work, waiting: Delivery) -> None:
    def send(message: Message, key: str) -> Receipt:
        with another_connection() as other:
            for table in ("deliveries_lane", "deliveries_delivery", "invoices_invoice"):
                other.execute(f"SELECT FROM {table} FOR UPDATE NOWAIT")
        return Receipt(id="msg_1")

    work(FakeProvider(send), threads=1)  # With an idle thread it would look for more work.
    assert is_sent(waiting)


def change_everything(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may happen between two attempts: corrections, and a deploy with other templates."""
    invoice = invoice_of(delivery)
    Invoice.objects.filter(pk=invoice.pk).update(notes="Changed", number="INV-9999")
    Customer.objects.filter(pk=invoice.customer_id).update(
        name="Another Name", email="another@address.example"
    )
    changed = engines["django"].from_string("Another text.")
    monkeypatch.setattr("invoices.letters.render_to_string", lambda *args: changed.render())


@pytest.mark.parametrize(
    "first_answer",
    [refused(503, "unavailable"), b"", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"],
    ids=["503", "cut without an answer", "cut in mid answer"],
)
def test_a_retry_sends_the_same_bytes_under_the_same_key_whatever_changed_meanwhile(
    work: Work, waiting: Delivery, monkeypatch: pytest.MonkeyPatch, first_answer: bytes
) -> None:
    answers = iter([first_answer, accepted("msg_7")])

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(next(answers))

    with closing(RawServer(script)) as server:
        work(SandboxProvider(server.url, timeout_seconds=5), backoff_base=60.0, backoff_cap=60.0)
        assert (now(waiting).status, now(waiting).attempts) == ("retrying", 1)
        change_everything(waiting, monkeypatch)
        change(waiting, next_attempt_at=Now())
        work(SandboxProvider(server.url, timeout_seconds=5))
        first, second = server.requests
    assert first.body == second.body
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert now(waiting).provider_message_id == "msg_7"
    assert Message.objects.count() == 1
    assert events(waiting) == [T.REQUESTED, T.ATTEMPT_FAILED, T.SENT]


def test_an_answer_lost_after_acceptance_is_found_again_under_the_key(
    sandbox: Sandbox, provider: SandboxProvider, start: Start, waiting: Delivery
) -> None:
    sandbox.faults.set(drop_after_accept_next=2, cut_mid_answer_next=1)
    start(provider)
    eventually(lambda: is_sent(waiting))
    assert len(sandbox.messages()) == 1
    assert now(waiting).attempts == 4
    assert DeliveryEvent.objects.get(delivery=waiting, type=T.SENT).details == {"replayed": True}


def test_after_a_refusal_a_replay_composes_anew_under_a_new_key(
    work: Work, waiting: Delivery, support: User
) -> None:
    with closing(
        RawServer(answering(refused(422, "invalid_address", "No such domain.")))
    ) as server:
        work(SandboxProvider(server.url, timeout_seconds=5))
        assert len(server.requests) == 1
    dead = now(waiting)
    assert (dead.status, dead.dead_reason, dead.attempts) == ("dead", "rejected", 1)
    assert dead.last_error == "The provider refused it (422): No such domain."
    assert invoice_of(waiting).status == Invoice.Status.FAILED
    Customer.objects.update(email="corrected@address.example")
    ledger.replay(
        waiting.pk,
        actor_id=support.pk,
        reason="address corrected",
        key_lifetime=policy().key_lifetime,
    )
    with closing(RawServer(answering(accepted("msg_8")))) as server:
        work(SandboxProvider(server.url, timeout_seconds=5))
        [request] = server.requests
    assert request.headers["idempotency-key"] != dead.idempotency_key
    assert json.loads(request.body)["to"] == "corrected@address.example"
    assert is_sent(waiting)
    assert invoice_of(waiting).status == Invoice.Status.SENT


def test_a_replay_of_what_may_have_arrived_sends_the_same_bytes_under_the_same_key(
    work: Work, waiting: Delivery, support: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(waiting, attempts=policy().max_attempts - 1)
    with closing(RawServer(answering(refused(503, "unavailable")))) as server:
        work(SandboxProvider(server.url, timeout_seconds=5))
        assert now(waiting).dead_reason == "gave_up"
        change_everything(waiting, monkeypatch)
        ledger.replay(
            waiting.pk,
            actor_id=support.pk,
            reason="the provider is back",
            key_lifetime=policy().key_lifetime,
        )
        work(SandboxProvider(server.url, timeout_seconds=5), backoff_base=60.0, backoff_cap=60.0)
        first, second = server.requests
    assert first.body == second.body
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_the_pdf_is_made_once_for_all_attempts(
    sandbox: Sandbox,
    provider: SandboxProvider,
    start: Start,
    waiting: Delivery,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    composed: list[int] = []
    compose = InvoiceEmail.compose

    def counted(self: InvoiceEmail, delivery: Delivery) -> Message:
        composed.append(delivery.pk)
        return compose(self, delivery)

    monkeypatch.setattr(InvoiceEmail, "compose", counted)
    sandbox.faults.set(fail_next={"status": 500, "count": 3})
    start(provider)
    eventually(lambda: is_sent(waiting))
    assert composed == [waiting.pk]


def test_a_running_worker_is_present_with_what_it_has_in_hand(
    start: Start, waiting: Delivery
) -> None:
    running = start(FakeProvider(), name="mail-1", threads=3)
    eventually(lambda: is_sent(waiting))
    presence = WorkerPresence.objects.get()
    assert (presence.name, presence.threads) == ("mail-1", 3)
    running.stop()
    assert not WorkerPresence.objects.exists()


def test_a_report_that_cannot_be_followed_keeps_nobody_from_being_sent(
    start: Start, request_delivery: Request
) -> None:
    odd, good = request_delivery(), request_delivery()
    change(odd, status="sent", sent_at=Now(), finished_at=Now(), provider_message_id="msg-1")
    # Of a newer version, which knows outcomes that this one does not.
    ProviderEvent.objects.create(
        event_id="odd",
        type="email.quarantined",
        outcome="quarantined",
        provider_message_id="msg-1",
        happened_at=Now(),
    )
    start(FakeProvider())
    eventually(lambda: is_sent(good))
    # A second round: the first one may have come before the worker looked after reports.
    later = request_delivery()
    eventually(lambda: is_sent(later))
