"""When to try again, and when to stop: pure functions of what happened and a random number."""

from datetime import timedelta

from deliveries.errors import (
    LaneFailure,
    NotSendable,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
)
from deliveries.models import Delivery
from deliveries.outcomes import Dead, Outcome, PutBack, RetryLater
from deliveries.policy import Policy

# A provider that asks for a week means something else; a message that waits that long is lost.
RETRY_AFTER_CAP = timedelta(hours=1)


def delay(
    attempt: int, *, policy: Policy, chance: float, retry_after: timedelta | None = None
) -> timedelta:
    """Return the wait after the attempt of that number, counted from 1.

    Exponential and capped, then jittered to between half and the whole of it by `chance`, from 0
    to 1, so that what failed together does not come back together. Never below `retry_after`.
    """
    times = 2 ** min(attempt - 1, 40)
    # Asked before multiplying, since the product may be longer than a timedelta can be.
    is_capped = times >= policy.backoff_cap / policy.backoff_base
    whole = policy.backoff_cap if is_capped else policy.backoff_base * times
    jittered: timedelta = whole * (0.5 + chance / 2)
    return max(jittered, min(retry_after or timedelta(0), RETRY_AFTER_CAP))


def schedule(*, policy: Policy, chance: float) -> timedelta:
    """Return how long the retries last in all, from the first attempt to the last."""
    return sum(
        (delay(n, policy=policy, chance=chance) for n in range(1, policy.max_attempts)),
        timedelta(0),
    )


def decide(
    failure: Exception,
    *,
    attempts: int,
    handed_over_before: bool,
    handed_over_now: bool,
    policy: Policy,
    chance: float,
    details: dict[str, object] | None = None,
) -> Outcome:
    """Return what is to become of a delivery whose attempt failed.

    `attempts` counts the outcomes recorded before this one. The hand-over flags say whether the
    provider may hold the message from an earlier attempt, and whether this one got as far.
    Anything that is not a provider's answer is a bug of ours, and bugs get mended: temporary.
    """
    reason = str(failure) or type(failure).__name__
    match failure:
        case PermanentFailure():
            return Dead(
                reason=Delivery.DeadReason.REJECTED,
                error=reason,
                may_have_accepted=handed_over_before and not failure.by_provider,
                refused=failure.refused,
            )
        case NotSendable():
            return Dead(
                reason=Delivery.DeadReason.NOT_SENDABLE,
                error=reason,
                may_have_accepted=handed_over_before,
            )
        case OutcomeUnknown():
            return Dead(
                reason=Delivery.DeadReason.OUTCOME_UNKNOWN, error=reason, may_have_accepted=True
            )
        case LaneFailure():
            return PutBack(
                why=reason,
                may_have_accepted=handed_over_before,
                blames_lane=True,
            )
        case TemporaryFailure():
            may_have_accepted = handed_over_before or failure.may_have_accepted
            retry_after = failure.retry_after
        case ProviderFailure():
            may_have_accepted, retry_after = True, None
        case _:
            reason = f"A fault in our own software: {type(failure).__name__}: {reason}"
            may_have_accepted, retry_after = handed_over_before or handed_over_now, None
    made = attempts + 1
    if made >= policy.max_attempts:
        return Dead(
            reason=Delivery.DeadReason.GAVE_UP,
            error=f"Given up after {made} attempts. The last one failed: {reason}",
            may_have_accepted=may_have_accepted,
            details=details or {},
        )
    return RetryLater(
        error=reason,
        delay=delay(made, policy=policy, chance=chance, retry_after=retry_after),
        may_have_accepted=may_have_accepted,
        details=details or {},
    )
