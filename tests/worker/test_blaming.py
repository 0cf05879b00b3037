"""Refused like the account, or throttled: whether all are meant, or one message alone."""

from datetime import timedelta

import pytest

from deliveries import ledger
from deliveries.errors import AccountProblem, LaneFailure, Throttled
from deliveries.lane_feedback import ACCOUNT_PATIENCE, THROTTLE_PATIENCE
from deliveries.ledger.blaming import TIMES
from deliveries.models import Message
from deliveries.providers import Receipt
from tests.worker.conftest import Request, Work
from tests.worker.stage import FakeProvider, is_sent, lane, now

pytestmark = pytest.mark.thorough


def test_one_message_refused_as_if_it_were_the_account_dies_alone(
    work: Work, request_delivery: Request
) -> None:
    """Some providers answer 403 to what is wrong with one recipient."""
    odd = request_delivery()

    def send(message: Message, key: str) -> Receipt:
        if message.delivery_id == odd.pk:
            raise AccountProblem("403: recipient is blocked")
        return Receipt(id=f"for {key}")

    sent = []
    for _ in range(TIMES):
        work(FakeProvider(send), threads=1)
        assert now(odd).status == "queued"
        ledger.resume("email", reason="The key is right again.")
        sent.append(request_delivery())
    # The others go first, one at a time as the worker is, and then it is plain whose fault it is.
    work(FakeProvider(send), threads=1)
    assert all(is_sent(other) for other in sent)
    dead = now(odd)
    assert (dead.status, dead.dead_reason) == ("dead", "rejected")
    assert "recipient is blocked" in dead.last_error
    assert lane().paused_until is None


def test_a_refused_account_costs_nobody_an_attempt_however_often_it_is_tried(
    work: Work, request_delivery: Request
) -> None:
    first, second = request_delivery(), request_delivery()

    def send(message: Message, key: str) -> Receipt:
        raise AccountProblem("bad key")

    for _ in range(TIMES + 2):
        work(FakeProvider(send), threads=1)
        assert lane().paused_until
        ledger.resume("email", reason="Try again.")
    assert {(now(d).status, now(d).attempts) for d in (first, second)} == {("queued", 0)}


def test_after_a_refused_account_the_others_go_first(work: Work, request_delivery: Request) -> None:
    first, second = request_delivery(), request_delivery()
    keys: list[int] = []

    def send(message: Message, key: str) -> Receipt:
        keys.append(message.delivery_id)
        raise AccountProblem("bad key")

    for _ in range(3):
        work(FakeProvider(send), threads=1)
        ledger.resume("email", reason="Try again.")
    assert keys == [first.pk, second.pk, first.pk]


@pytest.mark.parametrize("failure", [AccountProblem("403: blocked"), Throttled("450: too many")])
def test_one_that_alone_is_refused_for_all_pauses_nothing_while_others_are_accepted(
    work: Work, request_delivery: Request, failure: LaneFailure
) -> None:
    first, odd, *others = [request_delivery() for _ in range(12)]

    def send(message: Message, key: str) -> Receipt:
        if message.delivery_id == odd.pk:
            assert lane().paused_until is None
            raise failure
        return Receipt(id=f"for {key}")

    work(FakeProvider(send), threads=1)
    assert is_sent(first)
    assert all(is_sent(other) for other in others)


@pytest.mark.parametrize(
    ("failure", "answers"),
    [
        (AccountProblem("bad key"), ACCOUNT_PATIENCE + 1),
        (Throttled("slow down"), THROTTLE_PATIENCE + 1),
    ],
)
def test_some_in_a_row_with_none_accepted_between_pause_the_lane(
    work: Work, request_delivery: Request, failure: LaneFailure, answers: int
) -> None:
    accepted, *refused = [request_delivery() for _ in range(14)]

    def send(message: Message, key: str) -> Receipt:
        if message.delivery_id == accepted.pk:
            return Receipt(id=f"for {key}")
        raise failure

    work(FakeProvider(send), threads=1)
    assert lane().paused_reason == str(failure)
    assert sum(now(each).lease_token for each in refused) == answers


def test_one_that_is_refused_again_with_none_accepted_between_pauses_the_lane(
    work: Work, request_delivery: Request
) -> None:
    """It would be tried again and again, at once."""
    accepted, odd = request_delivery(), request_delivery()

    def send(message: Message, key: str) -> Receipt:
        if message.delivery_id == accepted.pk:
            return Receipt(id=f"for {key}")
        raise Throttled("slow down")

    work(FakeProvider(send), threads=1)
    assert lane().paused_until
    assert (now(odd).lease_token, now(odd).attempts) == (2, 0)


def test_one_that_alone_is_throttled_uses_its_attempts_in_the_end(
    work: Work, request_delivery: Request
) -> None:
    odd = request_delivery()

    def send(message: Message, key: str) -> Receipt:
        if message.delivery_id == odd.pk:
            raise Throttled("450: too many to this domain", retry_after=timedelta(seconds=40))
        return Receipt(id=f"for {key}")

    for _ in range(TIMES + 1):
        work(FakeProvider(send), threads=1)
        ledger.resume("email", reason="Let us see.")
        request_delivery()
    work(FakeProvider(send), threads=1)
    late = now(odd)
    assert (late.status, late.attempts) == ("retrying", 1)
    assert "alone" in late.last_error
    assert "too many to this domain" in late.last_error
    assert lane().paused_until is None


def test_where_most_are_throttled_it_costs_nobody_an_attempt(
    work: Work, request_delivery: Request
) -> None:
    throttled = [request_delivery() for _ in range(8)]
    pks = {delivery.pk for delivery in throttled}

    def send(message: Message, key: str) -> Receipt:
        if message.delivery_id in pks:
            raise Throttled("slow down")
        return Receipt(id=f"for {key}")

    for _ in range(12):
        work(FakeProvider(send), threads=1)
        ledger.resume("email", reason="Let us see.")
    for _ in range(TIMES):
        request_delivery()
        work(FakeProvider(send), threads=1)
        ledger.resume("email", reason="Let us see.")
    assert {(now(each).status, now(each).attempts) for each in throttled} == {("queued", 0)}
