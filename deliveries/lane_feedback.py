"""What a round of attempts says of the provider as a whole, told to the lane."""

from collections.abc import Sequence
from datetime import timedelta

from deliveries import ledger
from deliveries.attempt import Report
from deliveries.errors import LaneFailure, TemporaryFailure, Throttled
from deliveries.outcomes import Sent
from deliveries.providers import Provider, reported_rate

# How long a lane rests where the provider does not say: too many requests, a refused account.
THROTTLE_PAUSE = timedelta(seconds=5)
ACCOUNT_PAUSE = timedelta(seconds=60)
PAUSE_CAP = timedelta(hours=1)

# So many answers in a row may be about odd messages, as long as others are accepted.
THROTTLE_PATIENCE = 1
ACCOUNT_PATIENCE = 9


def tell(lane: str, reports: Sequence[Report], *, provider: Provider) -> None:
    """Heed the provider's rate, pause where it blames all, count what did not reach it.

    Joins the caller's transaction, in which the lane is locked.
    """
    if (rate := reported_rate(provider)) is not None:
        ledger.heed_rate(lane, rate)
    failures = [report.failure for report in reports if report.failure is not None]
    blames = [failure for failure in failures if isinstance(failure, LaneFailure)]
    if _is_to_blame(lane, blames, accepted=any(isinstance(r.outcome, Sent) for r in reports)):
        for failure in blames:
            ledger.pause(lane, reason=failure.summary, for_=_rest(failure))
    ledger.record_results(
        lane,
        reached=any(report.reached_provider for report in reports),
        failures=sum(
            isinstance(failure, TemporaryFailure) and failure.provider_down for failure in failures
        ),
    )


def _is_to_blame(lane: str, blames: Sequence[LaneFailure], *, accepted: bool) -> bool:
    if not blames and not accepted:
        return False
    throttled = any(isinstance(failure, Throttled) for failure in blames)
    patience = THROTTLE_PATIENCE if throttled else ACCOUNT_PATIENCE
    return ledger.record_blames(lane, accepted=accepted, blames=len(blames), patience=patience)


def _rest(failure: LaneFailure) -> timedelta:
    usual = THROTTLE_PAUSE if isinstance(failure, Throttled) else ACCOUNT_PAUSE
    return max(min(failure.retry_after or usual, PAUSE_CAP), timedelta(seconds=1))
