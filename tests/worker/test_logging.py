"""One search for a correlation id, a delivery or an invoice finds the whole story in the logs."""

import logging

import pytest

from deliveries.errors import PermanentFailure, TemporaryFailure, Throttled
from deliveries.models import Delivery, Message
from deliveries.providers import Receipt
from invoices.models import Invoice
from tests.worker.conftest import Request, Start, Work
from tests.worker.stage import FakeProvider, Gate, eventually, status
from tests.worker.test_leases import claim_as, expire


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="deliveries")
    return caplog


def told_of(delivery: Delivery, lines: pytest.LogCaptureFixture) -> list[str]:
    """Return the messages about a delivery; fail if one of them lacks a field to find it by."""
    found = []
    for record in lines.records:
        if getattr(record, "delivery", None) == delivery.pk and record.name != REQUESTING:
            assert getattr(record, "correlation_id", None) == delivery.correlation_id, record
            assert getattr(record, "invoice", None) == delivery.reference, record
            found.append(record.getMessage())
    return found


REQUESTING = "deliveries.ledger.requesting"  # Has its id from the request that is under way.

# Lines of the worker that are about no delivery.
OF_THE_WORKER = {"worker started", "worker stopped", "lane paused", "delivery requested"}


def test_every_line_of_an_attempt_can_be_found(
    work: Work, waiting: Delivery, lines: pytest.LogCaptureFixture
) -> None:
    failures = iter([TemporaryFailure("cut off"), KeyError("id"), Throttled("slow down")])

    def send(message: Message, key: str) -> Receipt:
        if failure := next(failures, None):
            raise failure
        return Receipt(id="msg_1")

    for _ in range(3):
        work(FakeProvider(send))
    assert told_of(waiting, lines) == [
        "attempt started",
        "attempt did not succeed",
        "attempt failed",
        "attempt started",
        "attempt failed by a fault of ours",
        "attempt failed",
        "attempt started",
        "attempt did not succeed",
        "delivery put back",
    ]
    everything = {record.getMessage() for record in lines.records}
    assert everything - set(told_of(waiting, lines)) <= OF_THE_WORKER


@pytest.mark.parametrize("ending", ["sent", "dead", "cancelled"])
def test_every_ending_can_be_found(
    work: Work, waiting: Delivery, lines: pytest.LogCaptureFixture, ending: str
) -> None:
    def send(message: Message, key: str) -> Receipt:
        if ending == "dead":
            raise PermanentFailure("no such address")
        return Receipt(id="msg_1")

    if ending == "cancelled":
        Invoice.objects.update(status=Invoice.Status.VOID)
    work(FakeProvider(send))
    assert told_of(waiting, lines)[-1] == f"delivery {ending}"


def test_a_lost_lease_can_be_found(
    start: Start, waiting: Delivery, lines: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    start(FakeProvider(gate), threads=1, lease=0.6, send_timeout=0.4)
    gate.await_entry()
    expire(waiting)
    claim_as("another")
    eventually(lambda: "lease lost while running" in told_of(waiting, lines))
    gate.opened.set()
    eventually(lambda: "outcome not recorded: lease lost" in told_of(waiting, lines))
    assert told_of(waiting, lines).count("lease lost while running") == 1
    assert status(waiting) == "running"


def test_no_line_tells_an_address_a_subject_or_a_body(
    work: Work, request_delivery: Request, lines: pytest.LogCaptureFixture
) -> None:
    secrets = ("accounts@mamaput.example", "Mama Put", "Mainland Supplies")
    request_delivery()

    def send(message: Message, key: str) -> Receipt:
        raise TemporaryFailure("cut off")

    work(FakeProvider(send), backoff_base=60.0, backoff_cap=60.0)
    told = "\n".join(str(vars(record)) for record in lines.records)
    assert not [secret for secret in secrets if secret in told]
