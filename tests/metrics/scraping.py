"""Reading what a scrape returns."""

from datetime import datetime

from prometheus_client.parser import text_string_to_metric_families

from deliveries import gauges
from tests.ledger.steps import at

Sample = tuple[str, frozenset[tuple[str, str]]]


def parsed(text: str) -> dict[Sample, float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


class Scrape:
    """The ledger's gauges at one moment, by name without the prefix, and labels."""

    def __init__(self, now: datetime = at()) -> None:  # noqa: B008 - a literal time
        self.samples = parsed(gauges.render(now=now).decode())

    def __call__(self, name: str, **labels: str) -> float:
        return self.samples[f"deliveries_{name}", frozenset(labels.items())]
