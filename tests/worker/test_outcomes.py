"""What becomes of a delivery that cannot simply be sent."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from deliveries import kinds
from deliveries.errors import OutcomeUnknown, PermanentFailure, TemporaryFailure
from deliveries.models import Delivery, DeliveryEvent, Message
from deliveries.providers import Receipt
from deliveries.providers.sandbox import SandboxProvider
from deliveries.sandbox import SandboxProvider as Sandbox
from invoices.emails import InvoiceEmail
from invoices.models import Customer, Invoice
from invoices.pdf import InvoiceNotRenderable
from tests.worker.conftest import Request, Start, Work
from tests.worker.stage import (
    FakeProvider,
    change,
    events,
    eventually,
    invoice_of,
    is_sent,
    now,
    status,
)

T = DeliveryEvent.Type


def test_an_invoice_without_an_amount_dies_with_words_a_person_can_act_on(
    work: Work, request_delivery: Request
) -> None:
    delivery = request_delivery(amount_minor=None)
    provider = FakeProvider()
    work(provider)
    dead = now(delivery)
    assert (dead.status, dead.dead_reason, dead.attempts) == ("dead", "not_sendable", 1)
    assert dead.last_error == "The invoice has no amount: enter its lines."
    assert invoice_of(delivery).failure_reason == dead.last_error
    assert (provider.keys, Message.objects.count()) == ([], 0)


def test_a_customer_without_an_address_is_not_called_sent(
    work: Work, request_delivery: Request
) -> None:
    delivery = request_delivery(email="  ")
    work(provider := FakeProvider())
    assert (status(delivery), now(delivery).dead_reason) == ("dead", "not_sendable")
    assert provider.keys == []


def test_an_address_that_the_provider_refuses_dies_in_the_providers_words(
    sandbox: Sandbox, provider: SandboxProvider, work: Work, request_delivery: Request
) -> None:
    delivery = request_delivery(email="not an address")
    work(provider)
    dead = now(delivery)
    assert (dead.dead_reason, dead.attempts, dead.handed_over_at) == ("rejected", 1, None)
    assert "not an address" in dead.last_error
    assert sandbox.messages() == []


def test_without_its_pdf_no_email_leaves(
    work: Work, waiting: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> bytes:
        raise InvoiceNotRenderable("no font has these signs")

    monkeypatch.setattr("invoices.emails.render", refuse)
    work(provider := FakeProvider())
    dead = now(waiting)
    assert (dead.status, dead.dead_reason) == ("dead", "not_sendable")
    assert dead.last_error == "The PDF cannot be made: no font has these signs"
    assert (provider.keys, Message.objects.count()) == ([], 0)


class PanicException(BaseException):
    """What a panic in Rust, under typst, looks like from Python: no Exception."""


@pytest.mark.parametrize(
    ("error", "called"),
    [
        (ZeroDivisionError, "ZeroDivisionError"),
        (MemoryError, "MemoryError"),
        (PanicException, "Panic: PanicException"),
        (SystemExit, "Panic: SystemExit"),
    ],
)
def test_a_bug_in_composing_is_temporary_and_its_traceback_stands_in_the_timeline(
    start: Start,
    request_delivery: Request,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    called: str,
) -> None:
    def render_badly(*args: object) -> bytes:
        raise error("one \x00 two")

    monkeypatch.setattr("invoices.emails.render", render_badly)
    broken = request_delivery()
    running = start(provider := FakeProvider(), threads=1, backoff_base=60.0, backoff_cap=60.0)
    eventually(lambda: status(broken) == "retrying")
    failed = now(broken)
    assert failed.attempts == 1
    assert failed.last_error.startswith(f"A fault in our own software: {called}: one")
    event = DeliveryEvent.objects.get(delivery=broken, type=T.ATTEMPT_FAILED)
    assert "in render_badly" in event.details["traceback"]
    assert provider.keys == []
    monkeypatch.undo()
    change(broken, next_attempt_at=Now())
    eventually(lambda: is_sent(broken))
    running.stop()


def test_a_bug_in_the_provider_is_temporary_and_may_have_been_accepted(
    work: Work, waiting: Delivery
) -> None:
    def send(message: Message, key: str) -> Receipt:
        raise KeyError("id")

    work(FakeProvider(send), backoff_base=60.0, backoff_cap=60.0)
    failed = now(waiting)
    assert failed.status == "retrying"
    assert failed.handed_over_at is not None


def test_a_failure_before_anything_was_sent_leaves_no_doubt(work: Work, waiting: Delivery) -> None:
    def send(message: Message, key: str) -> Receipt:
        raise TemporaryFailure("refused", may_have_accepted=False)

    work(FakeProvider(send), backoff_base=60.0, backoff_cap=60.0)
    assert (status(waiting), now(waiting).handed_over_at) == ("retrying", None)


def test_the_doubt_of_an_earlier_attempt_stays(work: Work, waiting: Delivery) -> None:
    earlier = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
    change(waiting, handed_over_at=earlier)

    def send(message: Message, key: str) -> Receipt:
        raise TemporaryFailure("refused", may_have_accepted=False)

    lifetime = float(10 * 365 * 86400)
    work(FakeProvider(send), backoff_base=60.0, backoff_cap=60.0, key_lifetime=lifetime)
    assert now(waiting).handed_over_at == earlier


def test_another_message_under_our_key_is_outcome_unknown(work: Work, waiting: Delivery) -> None:
    def send(message: Message, key: str) -> Receipt:
        raise OutcomeUnknown("another message under this key")

    work(FakeProvider(send))
    dead = now(waiting)
    assert (dead.status, dead.dead_reason) == ("dead", "outcome_unknown")
    assert dead.handed_over_at is not None


def test_once_the_key_has_expired_nothing_is_sent_again(work: Work, waiting: Delivery) -> None:
    def lose(message: Message, key: str) -> Receipt:
        raise TemporaryFailure("cut off")

    work(provider := FakeProvider(lose), backoff_base=60.0, backoff_cap=60.0)
    change(
        waiting,
        next_attempt_at=Now(),
        handed_over_at=F("handed_over_at") - timedelta(seconds=86400 - 15),
    )
    work(provider)
    dead = now(waiting)
    assert (dead.status, dead.dead_reason) == ("dead", "outcome_unknown")
    assert len(provider.keys) == 1


def test_the_last_attempt_gives_up(work: Work, waiting: Delivery) -> None:
    def fail(message: Message, key: str) -> Receipt:
        raise TemporaryFailure("cut off")

    change(waiting, attempts=15)
    work(FakeProvider(fail))
    dead = now(waiting)
    assert (dead.status, dead.dead_reason, dead.attempts) == ("dead", "gave_up", 16)
    assert dead.last_error == "Given up after 16 attempts. The last one failed: cut off"


def test_a_voided_invoice_is_cancelled_with_the_reason(
    work: Work, request_delivery: Request
) -> None:
    delivery = request_delivery(number="INV-0007")
    Invoice.objects.update(status=Invoice.Status.VOID)
    work(provider := FakeProvider())
    assert (status(delivery), now(delivery).attempts) == ("cancelled", 1)
    assert now(delivery).last_error == "Not sent: INV-0007 was voided."
    assert invoice_of(delivery).status == Invoice.Status.VOID
    assert provider.keys == []
    assert events(delivery) == [T.REQUESTED, T.CANCELLED]


def test_a_cancellation_says_that_the_customer_may_have_it_already(
    work: Work, waiting: Delivery
) -> None:
    change(waiting, handed_over_at=Now())
    Customer.objects.update(removed_at=Now())
    work(FakeProvider())
    assert now(waiting).last_error == (
        "Not sent: the customer Mama Put Kitchen was removed. "
        "An earlier attempt may have reached the customer."
    )


def test_a_row_of_an_unknown_kind_is_left_alone_and_the_others_go_out(
    work: Work, request_delivery: Request
) -> None:
    from_the_future, ours = request_delivery(), request_delivery()
    change(from_the_future, kind="carrier_pigeon", fair_tag=0)
    work(FakeProvider())
    assert is_sent(ours)
    untouched = now(from_the_future)
    assert (untouched.status, untouched.claims, untouched.lease_token) == ("queued", 0, 0)


def test_a_kind_that_vanishes_after_the_claim_harms_nobody(
    work: Work, request_delivery: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = request_delivery()
    known = kinds.known
    monkeypatch.setattr(kinds, "known", lambda lane: [*known(lane), "carrier_pigeon"])
    change(delivery, kind="carrier_pigeon")
    work(provider := FakeProvider(), backoff_base=60.0, backoff_cap=60.0)
    assert (status(delivery), provider.keys) == ("retrying", [])


def test_with_too_little_of_the_lease_left_it_is_put_back_unburned(
    work: Work, waiting: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = InvoiceEmail.compose
    slow = iter([True, False])

    def compose_slowly(self: InvoiceEmail, delivery: Delivery) -> Message:
        if next(slow):
            change(delivery, locked_until=Now() + timedelta(seconds=20))
        return compose(self, delivery)

    monkeypatch.setattr(InvoiceEmail, "compose", compose_slowly)
    work(provider := FakeProvider())
    assert events(waiting) == [T.REQUESTED, T.RELEASED, T.SENT]
    assert (now(waiting).attempts, len(provider.keys)) == (1, 1)


def test_a_refusal_that_cannot_be_written_down_as_it_is_holds_nobody_up(
    start: Start, request_delivery: Request
) -> None:
    bad, good = request_delivery(), request_delivery()

    def send(message: Message, key: str) -> Receipt:
        if key == bad.idempotency_key:
            raise PermanentFailure("no \x00 such \ud800 address \\u0000")
        return Receipt(id="msg_1")

    start(FakeProvider(send))
    eventually(lambda: is_sent(good) and status(bad) == "dead")


@pytest.mark.parametrize("id_", ["msg \x00 \ud800", "x" * 10_000, ""], ids=ascii)
def test_a_receipt_that_cannot_be_written_down_as_it_is_holds_nobody_up(
    start: Start, request_delivery: Request, id_: str
) -> None:
    bad, good = request_delivery(), request_delivery()

    def send(message: Message, key: str) -> Receipt:
        return Receipt(id=id_ if key == bad.idempotency_key else "msg_1")

    running = start(FakeProvider(send), threads=1)
    eventually(lambda: is_sent(good))
    eventually(lambda: not running.worker._unrecorded)
    assert running.thread.is_alive()


def test_nothing_composes_inside_a_transaction(
    work: Work, waiting: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []
    compose = InvoiceEmail.compose

    def watched(self: InvoiceEmail, delivery: Delivery) -> Message:
        inside.append(connection.in_atomic_block)
        return compose(self, delivery)

    monkeypatch.setattr(InvoiceEmail, "compose", watched)
    work(FakeProvider())
    assert inside == [False]
