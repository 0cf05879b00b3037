"""Counters and histograms of this worker's own process."""

from prometheus_client import Counter, Histogram

from deliveries.attempt import Report

ATTEMPTS = Counter(
    "deliveries_attempts_total", "Attempts by what came of them.", ["kind", "outcome"]
)
SEND_SECONDS = Histogram(
    "deliveries_send_seconds", "How long the provider took to answer.", ["kind"]
)


def observe(report: Report) -> None:
    outcome = type(report.outcome).__name__ if report.outcome else "LeaseLost"
    ATTEMPTS.labels(kind=report.claim.kind, outcome=outcome).inc()
    if report.send_seconds is not None:
        SEND_SECONDS.labels(kind=report.claim.kind).observe(report.send_seconds)
