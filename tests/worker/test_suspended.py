"""A process that stood still between its hand-over's record and the request sends nothing."""

from collections.abc import Iterator
from itertools import chain, repeat
from types import SimpleNamespace

import pytest

from deliveries import attempt
from deliveries.providers.deadline import Exchange
from tests.worker.conftest import Request, Work
from tests.worker.stage import FakeProvider, events, now


def test_a_lease_that_went_by_meanwhile_is_given_back_unburned(
    work: Work, request_delivery: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = request_delivery()
    # A minute goes by between composing, with its two looks at the clock, and the hand-over.
    looks: Iterator[float] = chain([0.0] * 3, repeat(60.0))
    monkeypatch.setattr(attempt, "time", SimpleNamespace(monotonic=lambda: next(looks)))
    provider = FakeProvider()
    work(provider)
    assert events(delivery) == ["requested", "released", "sent"]
    assert len(provider.keys) == 1
    assert now(delivery).attempts == 1


def test_an_exchange_whose_time_is_up_begins_no_request() -> None:
    with pytest.raises(TimeoutError):
        Exchange(-1).refuse_if_over()
