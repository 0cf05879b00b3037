"""Counters and histograms of this worker's own process, served at its `--metrics-port`.

Every series is there from the start, at zero: what begins at 1 has not increased, to Prometheus.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import Counter, Histogram

from deliveries import kinds
from deliveries.attempt import Report
from deliveries.ledger import Claim
from deliveries.outcomes import Cancelled, Dead, Outcome, PutBack, RetryLater, Sent

_OUTCOMES: dict[type[Outcome], str] = {
    Sent: "sent",
    RetryLater: "failed",
    Dead: "dead",
    Cancelled: "cancelled",
    PutBack: "put_back",
}
LEASE_LOST = "lease_lost"
# The provider accepted it, but another worker has the delivery by now. With a provider that
# honours keys it is the same e-mail; with one that does not, it may be a second.
ACCEPTED_LATE = "accepted_late"
OUTCOMES = (*_OUTCOMES.values(), LEASE_LOST, ACCEPTED_LATE)

ATTEMPTS = Counter(
    "deliveries_attempts_total", "Attempts by what came of them.", ["kind", "outcome"]
)
COMPOSE_SECONDS = Histogram(
    "deliveries_compose_seconds",
    "How long it took to compose a message, with its PDF.",
    ["kind"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
SEND_SECONDS = Histogram(
    "deliveries_send_seconds",
    "How long the provider took to answer, or the time limit to pass.",
    ["kind"],
    buckets=(0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60),
)
CLICK_TO_SENT_SECONDS = Histogram(
    "deliveries_click_to_sent_seconds",
    "From the request, or the last replay, until it was sent, by the database's clock.",
    ["kind"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400),
)
LEASES_LOST = Counter(
    "deliveries_leases_lost_total",
    "Deliveries taken over because the lease of their worker had run out.",
    ["kind"],
)


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What a round of settling recorded, and what it could not since the lease was lost."""

    reports: Sequence[Report] = ()
    lost: Sequence[Claim] = ()
    # By id and token, for whatever is sent now.
    seconds_to_send: Mapping[tuple[int, int], float] = field(default_factory=dict)

    def outcome(self, report: Report) -> str:
        if report.outcome is None:
            return LEASE_LOST
        if report.claim not in self.lost:
            return _OUTCOMES[type(report.outcome)]
        if not isinstance(report.outcome, Sent):
            return LEASE_LOST
        # A commit whose answer got lost had recorded it all the same.
        return "sent" if self.seconds(report) is not None else ACCEPTED_LATE

    def seconds(self, report: Report) -> float | None:
        return self.seconds_to_send.get((report.claim.delivery_id, report.claim.token))


NOTHING = Settled()


def observe(settled: Settled) -> None:
    """Count what is recorded; only after the commit."""
    for report in settled.reports:
        kind = report.claim.kind
        ATTEMPTS.labels(kind=kind, outcome=settled.outcome(report)).inc()
        for histogram, seconds in (
            (COMPOSE_SECONDS, report.compose_seconds),
            (SEND_SECONDS, report.send_seconds),
            (CLICK_TO_SENT_SECONDS, settled.seconds(report)),
        ):
            if seconds is not None:
                histogram.labels(kind=kind).observe(seconds)


def count_lost_leases(claims: Iterable[Claim]) -> None:
    """Count the leases that had run out before these; only after the commit."""
    for claim in claims:
        if claim.lost_by is not None:
            LEASES_LOST.labels(kind=claim.kind).inc()


def begin_at_zero() -> None:
    """Make the series of every kind that this code knows."""
    for kind in kinds.names():
        for outcome in OUTCOMES:
            ATTEMPTS.labels(kind=kind, outcome=outcome)
        for metric in (COMPOSE_SECONDS, SEND_SECONDS, CLICK_TO_SENT_SECONDS, LEASES_LOST):
            metric.labels(kind=kind)
