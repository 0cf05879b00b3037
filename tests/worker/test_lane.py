"""Trouble that is no message's fault: the lane waits, the messages keep their attempts."""

import threading
from datetime import timedelta

import pytest

from deliveries import ledger
from deliveries.errors import (
    AccountProblem,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.ledger import lanes
from deliveries.models import DeliveryEvent, Message
from deliveries.providers import Receipt
from deliveries.providers.sandbox import SandboxProvider
from deliveries.sandbox import SandboxProvider as Sandbox
from tests.worker.conftest import Request, Start, Work
from tests.worker.stage import (
    FakeProvider,
    Gate,
    events,
    eventually,
    is_sent,
    lane,
    now,
    pause_left,
)

T = DeliveryEvent.Type


def test_a_429_pauses_the_lane_and_costs_no_attempt(
    sandbox: Sandbox, provider: SandboxProvider, start: Start, request_delivery: Request
) -> None:
    first, second = request_delivery(), request_delivery()
    sandbox.faults.set(fail_next={"status": 429, "count": 1, "retry_after": 120})
    start(provider, threads=1)
    eventually(lambda: lane().paused_until)
    assert 100 < pause_left() <= 120
    assert lane().paused_reason == "The provider asks us to slow down."
    put_back = now(first)
    assert (put_back.status, put_back.attempts, put_back.claims) == ("queued", 0, 0)
    assert put_back.handed_over_at is None
    ledger.resume("email", reason="The key is right again.")
    eventually(lambda: is_sent(first) and is_sent(second))
    assert (now(first).attempts, now(second).attempts) == (1, 1)
    assert events(first) == [T.REQUESTED, T.RELEASED, T.SENT]


@pytest.mark.parametrize(
    ("failure", "least", "most"),
    [
        (Throttled("slow down"), 4, 5),
        (Throttled("slow down", retry_after=timedelta(0)), 4, 5),
        (Throttled("slow down", retry_after=timedelta(milliseconds=1)), 0.5, 1),
        (Throttled("slow down", retry_after=timedelta(days=365)), 3590, 3600),
        (AccountProblem("bad key"), 55, 60),
        (AccountProblem("quota", retry_after=timedelta(minutes=10)), 590, 600),
    ],
    ids=str,
)
def test_the_pause_is_what_the_provider_asks_within_reason(
    work: Work, request_delivery: Request, failure: ProviderFailure, least: float, most: float
) -> None:
    request_delivery()

    def send(message: Message, key: str) -> Receipt:
        raise failure

    work(FakeProvider(send))
    assert least < pause_left() <= most
    assert lane().paused_reason == str(failure)


def test_a_refused_key_pauses_the_lane_and_says_so(start: Start, request_delivery: Request) -> None:
    delivery = request_delivery()
    with Sandbox(api_key="the right one") as sandbox:
        start(SandboxProvider(sandbox.url, api_key="the wrong one", timeout_seconds=20))
        eventually(lambda: lane().paused_reason)
    assert lane().paused_reason == "The provider refuses our account (401)."
    assert (now(delivery).status, now(delivery).attempts) == ("queued", 0)


def test_the_providers_words_stay_in_the_deliverys_own_timeline(
    work: Work, request_delivery: Request, caplog: pytest.LogCaptureFixture
) -> None:
    delivery = request_delivery()
    words = "bad key sk-secret for customer@good.example"

    def send(message: Message, key: str) -> Receipt:
        raise AccountProblem(f"Refused: {words}", summary="The provider refuses our account.")

    work(FakeProvider(send))
    assert lane().paused_reason == "The provider refuses our account."
    assert words in delivery.events.get(type=T.RELEASED).sentence
    assert words not in str([vars(record) for record in caplog.records])


def test_a_problem_without_words_still_pauses_the_lane(
    work: Work, request_delivery: Request
) -> None:
    request_delivery()

    def send(message: Message, key: str) -> Receipt:
        raise AccountProblem("")

    work(FakeProvider(send))
    assert lane().paused_reason


def fail_with(failure: ProviderFailure) -> FakeProvider:
    def send(message: Message, key: str) -> Receipt:
        raise failure

    return FakeProvider(send)


@pytest.mark.thorough
def test_failures_in_a_row_make_an_outage_and_one_success_ends_it(
    sandbox: Sandbox,
    provider: SandboxProvider,
    start: Start,
    request_delivery: Request,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "PROBE_FIRST", timedelta(milliseconds=100))
    monkeypatch.setattr(lanes, "PROBE_CAP", timedelta(milliseconds=100))
    wanted = [request_delivery() for _ in range(6)]
    sandbox.faults.set(down=True)
    start(provider, threads=3)
    eventually(lambda: lane().failures_in_a_row >= lanes.OUTAGE_FAILURES)
    # What was in flight when the outage was seen may still land; from here on one at a time.
    eventually(lambda: sandbox.stats()["in_flight"] == 0)
    sandbox.reset_stats()
    before = lane().failures_in_a_row
    eventually(lambda: lane().failures_in_a_row >= before + 3)
    assert sandbox.stats()["max_in_flight"] == 1
    sandbox.faults.clear()
    eventually(lambda: all(is_sent(delivery) for delivery in wanted))
    assert lane().failures_in_a_row == 0
    assert len(sandbox.messages()) == 6


def test_a_provider_that_knows_what_it_refuses_is_not_out(
    work: Work, request_delivery: Request
) -> None:
    request_delivery()
    ledger.configure("email", limit=5, rate_per_second=None)
    ledger.record_results("email", reached=False, failures=4)
    work(fail_with(PermanentFailure("no such address")))
    assert lane().failures_in_a_row == 0


def test_a_failure_that_says_the_provider_is_up_does_not_count_towards_an_outage(
    work: Work, request_delivery: Request
) -> None:
    request_delivery()
    failure = TemporaryFailure("still working on it", provider_down=False)
    work(fail_with(failure), backoff_base=60.0, backoff_cap=60.0)
    assert lane().failures_in_a_row == 0


def test_a_bug_of_ours_does_not_count_towards_an_outage(
    work: Work, request_delivery: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render_badly(*args: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr("invoices.emails.render", render_badly)
    for _ in range(6):
        request_delivery()
    work(FakeProvider(), backoff_base=60.0, backoff_cap=60.0)
    assert lane().failures_in_a_row == 0


@pytest.mark.thorough
def test_two_workers_together_keep_to_the_lanes_limit(
    start: Start, request_delivery: Request
) -> None:
    wanted = [request_delivery() for _ in range(12)]
    ledger.configure("email", limit=3, rate_per_second=None)
    lock, at_once, most = threading.Lock(), 0, 0
    gate = Gate()

    def send(message: Message, key: str) -> Receipt:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        receipt = gate(message, key)
        with lock:
            at_once -= 1
        return receipt

    for name in ("w1", "w2"):
        start(FakeProvider(send), name=name, threads=5)
    for _ in range(3):
        gate.await_entry()
    gate.opened.set()
    eventually(lambda: all(is_sent(delivery) for delivery in wanted))
    assert most == 3
