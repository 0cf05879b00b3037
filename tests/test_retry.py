"""The delay, the decision and the budgets: pure functions."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deliveries import retry
from deliveries.errors import (
    AccountProblem,
    DeliveryError,
    NotSendable,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
    UnknownKind,
)
from deliveries.models import Delivery
from deliveries.outcomes import Dead, Outcome, PutBack, RetryLater
from tests import factories

Reason = Delivery.DeadReason


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


POLICY = factories.make_policy(
    backoff_base=seconds(5), backoff_cap=seconds(900), max_attempts=16, send_timeout=seconds(15)
)


# The delay ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "shortest", "longest"),
    [
        (1, 2.5, 5),
        (2, 5, 10),
        (3, 10, 20),
        (7, 160, 320),
        (8, 320, 640),
        (9, 450, 900),
        (16, 450, 900),
        (1000, 450, 900),
    ],
)
def test_the_delay_doubles_up_to_its_cap(attempt: int, shortest: float, longest: float) -> None:
    assert retry.delay(attempt, policy=POLICY, chance=0) == seconds(shortest)
    assert retry.delay(attempt, policy=POLICY, chance=1) == seconds(longest)


@given(attempt=st.integers(1, 10_000), chance=st.floats(0, 1))
def test_the_delay_is_between_half_and_the_whole(attempt: int, chance: float) -> None:
    whole = retry.delay(attempt, policy=POLICY, chance=1)
    assert whole / 2 <= retry.delay(attempt, policy=POLICY, chance=chance) <= whole <= seconds(900)


@given(base=st.floats(0.001, 3e8), attempt=st.integers(1, 10_000))
def test_no_setting_that_is_accepted_overflows(base: float, attempt: int) -> None:
    policy = factories.make_policy(backoff_base=seconds(base), backoff_cap=seconds(base + 3600))
    assert retry.delay(attempt, policy=policy, chance=1) <= policy.backoff_cap


@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        (None, 5),
        (0, 5),
        (4, 5),
        (6, 6),
        (3600, 3600),
        # Whoever asks for a week means something else.
        (3601, 3600),
        (7 * 86400, 3600),
        (-30, 5),
    ],
)
def test_the_delay_is_never_below_what_the_provider_asks(asked: float | None, wait: float) -> None:
    retry_after = None if asked is None else seconds(asked)
    assert retry.delay(1, policy=POLICY, chance=1, retry_after=retry_after) == seconds(wait)


def test_the_schedule_is_the_sum_of_the_waits_between_attempts() -> None:
    policy = factories.make_policy(backoff_base=seconds(5), backoff_cap=seconds(20), max_attempts=5)
    assert retry.schedule(policy=policy, chance=1) == seconds(5 + 10 + 20 + 20)
    assert retry.schedule(policy=policy, chance=0) == seconds(55 / 2)


def test_a_single_attempt_has_no_schedule() -> None:
    policy = factories.make_policy(max_attempts=1)
    assert retry.schedule(policy=policy, chance=1) == timedelta(0)


# The decision ------------------------------------------------------------------------------------


def decide(failure: Exception, **facts: Any) -> Outcome:
    usual = {"attempts": 0, "handed_over_before": False, "handed_over_now": True, "chance": 1}
    return retry.decide(failure, policy=POLICY, **(usual | facts))


@pytest.mark.parametrize("before", [False, True])
def test_a_refusal_is_final_and_known(before: bool) -> None:
    outcome = decide(PermanentFailure("no such mailbox"), handed_over_before=before)
    assert outcome == Dead(reason=Reason.REJECTED, error="no such mailbox", may_have_accepted=False)


@pytest.mark.parametrize("before", [False, True])
def test_what_cannot_be_composed_is_dead_at_once(before: bool) -> None:
    outcome = decide(NotSendable("Enter its lines."), handed_over_before=before)
    assert outcome == Dead(
        reason=Reason.NOT_SENDABLE, error="Enter its lines.", may_have_accepted=before
    )


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("now", [False, True])
def test_an_outcome_that_cannot_be_known_waits_for_a_person(before: bool, now: bool) -> None:
    outcome = decide(OutcomeUnknown("key gone"), handed_over_before=before, handed_over_now=now)
    assert outcome == Dead(reason=Reason.OUTCOME_UNKNOWN, error="key gone", may_have_accepted=True)


@pytest.mark.parametrize("failure", [Throttled("slow down"), AccountProblem("bad key")])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("attempts", [0, 15, 99])
def test_what_is_not_the_messages_fault_is_put_back(
    failure: Exception, before: bool, attempts: int
) -> None:
    outcome = decide(failure, handed_over_before=before, attempts=attempts)
    assert outcome == PutBack(
        why=str(failure),
        may_have_accepted=before,
        blames_lane=True,
    )


@pytest.mark.parametrize(
    ("now_accepted", "before", "may_have_accepted"),
    [(True, False, True), (True, True, True), (False, False, False), (False, True, True)],
)
def test_a_temporary_failure_is_tried_again(
    now_accepted: bool, before: bool, may_have_accepted: bool
) -> None:
    failure = TemporaryFailure("503", may_have_accepted=now_accepted)
    outcome = decide(failure, handed_over_before=before, attempts=2)
    assert outcome == RetryLater(
        error="503", delay=seconds(20), may_have_accepted=may_have_accepted
    )


def test_a_temporary_failure_waits_as_long_as_the_provider_asks() -> None:
    outcome = decide(TemporaryFailure("503", retry_after=seconds(120)))
    assert isinstance(outcome, RetryLater)
    assert outcome.delay == seconds(120)


def test_a_failure_of_no_known_sort_may_have_been_accepted() -> None:
    outcome = decide(ProviderFailure("odd"), handed_over_now=False)
    assert outcome == RetryLater(error="odd", delay=seconds(5), may_have_accepted=True)


@pytest.mark.parametrize("failure", [ValueError("no such font"), UnknownKind("no such font")])
@pytest.mark.parametrize(
    ("before", "now"), [(False, False), (False, True), (True, False), (True, True)]
)
def test_a_fault_of_ours_is_tried_again(failure: Exception, before: bool, now: bool) -> None:
    outcome = decide(failure, handed_over_before=before, handed_over_now=now)
    assert outcome == RetryLater(
        error=f"A fault in our own software: {type(failure).__name__}: no such font",
        delay=seconds(5),
        may_have_accepted=before or now,
    )


def test_a_fault_without_words_is_named() -> None:
    outcome = decide(ZeroDivisionError())
    assert isinstance(outcome, RetryLater)
    assert outcome.error == "A fault in our own software: ZeroDivisionError: ZeroDivisionError"


@pytest.mark.parametrize("failure", [TemporaryFailure("503"), ValueError("503")])
def test_the_details_come_along(failure: Exception) -> None:
    details: dict[str, object] = {"traceback": "…"}
    for attempts in (0, 15):
        outcome = decide(failure, details=details, attempts=attempts)
        assert isinstance(outcome, RetryLater | Dead)
        assert outcome.details == details


def test_the_last_attempt_but_one_is_tried_again() -> None:
    assert isinstance(decide(TemporaryFailure("503"), attempts=14), RetryLater)


@pytest.mark.parametrize("accepted", [False, True])
def test_after_the_last_attempt_it_is_given_up(accepted: bool) -> None:
    outcome = decide(TemporaryFailure("503", may_have_accepted=accepted), attempts=15)
    assert outcome == Dead(
        reason=Reason.GAVE_UP,
        error="Given up after 16 attempts. The last one failed: 503",
        may_have_accepted=accepted,
    )


def test_the_shortest_schedule_is_made_by_deciding_again_and_again() -> None:
    waited, attempts = timedelta(0), 0
    while isinstance(
        outcome := decide(TemporaryFailure("503"), attempts=attempts, chance=0), RetryLater
    ):
        waited, attempts = waited + outcome.delay, attempts + 1
    assert attempts == 15
    assert waited == retry.schedule(policy=POLICY, chance=0)


def test_every_error_of_the_app_is_decided() -> None:
    def all_below(error: type[Exception]) -> list[type[Exception]]:
        return [error, *(each for sub in error.__subclasses__() for each in all_below(sub))]

    assert all(decide(error("x")) for error in all_below(DeliveryError))


def test_a_gateways_refusal_does_not_prove_that_an_earlier_attempt_was_not_accepted() -> None:
    page = PermanentFailure("413 from a gateway", by_provider=False)
    for before in (True, False):
        outcome = decide(page, handed_over_before=before)
        assert isinstance(outcome, Dead)
        assert outcome.may_have_accepted is before
