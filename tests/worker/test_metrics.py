"""The worker's own counters and histograms, over real runs."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError, transaction
from prometheus_client import REGISTRY

from deliveries import kinds, ledger, metrics
from deliveries.errors import OutcomeUnknown, PermanentFailure, TemporaryFailure
from deliveries.ledger import sql
from deliveries.models import Delivery, Message
from deliveries.providers import Receipt
from tests.worker.conftest import Request, Start, Work
from tests.worker.stage import FakeProvider, Gate, change, eventually, is_sent

pytestmark = pytest.mark.thorough

Grown = Callable[..., float]


@pytest.fixture
def grown() -> Grown:
    """Return by how much a series has grown since the test began."""
    metrics.begin_at_zero()
    before = samples()

    def growth(name: str, **labels: str) -> float:
        key = f"deliveries_{name}", frozenset({"kind": "invoice", **labels}.items())
        return samples()[key] - before[key]

    return growth


def samples() -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
    }


def failing_once(error: Exception) -> FakeProvider:
    errors = iter([error])

    def send(message: Message, key: str) -> Receipt:
        if failure := next(errors, None):
            raise failure
        return Receipt(id=f"for {key}")

    return FakeProvider(send)


def test_a_sent_one_is_counted_and_timed(work: Work, waiting: Delivery, grown: Grown) -> None:
    work(FakeProvider())
    assert grown("attempts_total", outcome="sent") == 1
    for name in ("compose_seconds", "send_seconds", "click_to_sent_seconds"):
        assert grown(f"{name}_count") == 1
        assert 0 < grown(f"{name}_sum") < 60


def test_the_way_from_the_click_is_measured_by_the_databases_clock(
    work: Work, waiting: Delivery, grown: Grown
) -> None:
    change(waiting, waiting_since=sql.database_now() - timedelta(seconds=500))
    work(FakeProvider())
    assert 500 <= grown("click_to_sent_seconds_sum") < 560
    assert grown("click_to_sent_seconds_bucket", le="300.0") == 0
    assert grown("click_to_sent_seconds_bucket", le="900.0") == 1


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (TemporaryFailure("503"), "failed"),
        (PermanentFailure("no such mailbox"), "dead"),
        (OutcomeUnknown("another message under our key"), "dead"),
    ],
    ids=str,
)
def test_a_failure_is_counted_by_what_it_leads_to(
    work: Work, waiting: Delivery, grown: Grown, error: Exception, outcome: str
) -> None:
    work(failing_once(error))
    assert grown("attempts_total", outcome=outcome) == 1
    assert grown("attempts_total", outcome="sent") == grown("click_to_sent_seconds_count") <= 1


def test_a_retry_sends_what_is_stored_and_composes_nothing(
    work: Work, start: Start, waiting: Delivery, grown: Grown
) -> None:
    start(failing_once(TemporaryFailure("503")))
    eventually(lambda: is_sent(waiting))
    eventually(lambda: grown("attempts_total", outcome="sent") == 1)
    assert (grown("send_seconds_count"), grown("compose_seconds_count")) == (2, 1)


def test_what_is_no_longer_wanted_is_counted(work: Work, waiting: Delivery, grown: Grown) -> None:
    waiting.invoice.__class__.objects.filter(pk=waiting.invoice_id).update(status="void")
    work(FakeProvider())
    assert grown("attempts_total", outcome="cancelled") == 1
    assert grown("send_seconds_count") == 0


def test_a_lost_lease_is_counted_once_by_who_took_over(
    work: Work, waiting: Delivery, grown: Grown
) -> None:
    ledger.claim("email", worker="gone", capacity=1, lease=timedelta(microseconds=1), max_claims=3)
    work(FakeProvider())
    assert grown("leases_lost_total") == 1
    assert grown("attempts_total", outcome="sent") == 1


def test_what_was_accepted_after_the_lease_was_lost_is_told_apart(
    start: Start, waiting: Delivery, grown: Grown
) -> None:
    running = start(FakeProvider(gate := Gate()))
    gate.await_entry()
    # As another worker's claim does.
    change(waiting, lease_token=99, locked_by="another")
    gate.opened.set()
    eventually(lambda: grown("attempts_total", outcome="accepted_late") == 1)
    assert grown("attempts_total", outcome="sent") == 0
    running.stop()


def test_a_commit_of_which_no_answer_came_is_counted_as_sent(
    start: Start, waiting: Delivery, grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = ledger.settle_batch
    losses = iter([True])

    def lose_the_answer() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    def settles(settlements: list[object], *, worker: str) -> object:
        lost = settle(settlements, worker=worker)  # type: ignore[arg-type]
        if len(settlements) > 0 and next(losses, False):
            transaction.on_commit(lose_the_answer)
        return lost

    monkeypatch.setattr(ledger, "settle_batch", settles)
    start(FakeProvider())
    eventually(lambda: grown("attempts_total", outcome="sent") == 1)
    assert grown("attempts_total", outcome="accepted_late") == 0


def test_every_series_is_there_from_the_start() -> None:
    metrics.begin_at_zero()
    there = {labels for name, labels in samples() if name == "deliveries_attempts_total"}
    assert there >= {
        frozenset({("kind", kind), ("outcome", outcome)})
        for kind in kinds.names()
        for outcome in metrics.OUTCOMES
    }


def test_labels_are_the_kind_and_the_outcome(work: Work, request_delivery: Request) -> None:
    request_delivery()
    work(FakeProvider())
    names = {
        label for name, labels in samples() for label, _ in labels if name.startswith("deliveries_")
    }
    assert names == {"kind", "outcome", "le"}
