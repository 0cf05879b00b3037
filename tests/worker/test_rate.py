"""The rate that a provider reports becomes the fleet's."""

from collections.abc import Iterator

import pytest

from deliveries.models import Delivery, DeliveryEvent
from deliveries.providers.resend import ResendProvider
from tests.providers.resend_server import API_KEY, ResendServer
from tests.worker.conftest import Request, Start, Work
from tests.worker.stage import PATIENCE_SECONDS, FakeProvider, eventually, is_sent, lane

pytestmark = pytest.mark.thorough


@pytest.fixture
def resend() -> Iterator[ResendServer]:
    server = ResendServer()
    yield server
    server.close()


def test_a_worker_keeps_to_what_resend_allows(
    start: Start, request_delivery: Request, resend: ResendServer
) -> None:
    resend.per_second = 5
    wanted = [request_delivery() for _ in range(10)]
    start(ResendProvider(resend.url, api_key=API_KEY, timeout_seconds=PATIENCE_SECONDS))
    eventually(lambda: all(is_sent(delivery) for delivery in wanted))
    assert lane().reported_rate == 5.0
    assert len(resend.emails) == 10
    # Throttled now and then, since a second of ours is not one of theirs: nobody's fault.
    assert not DeliveryEvent.objects.filter(type=DeliveryEvent.Type.ATTEMPT_FAILED).exists()


def test_the_rate_that_a_provider_reports_becomes_the_lanes(
    work: Work, request_delivery: Request
) -> None:
    class Reporting(FakeProvider):
        reported_rate = 50.0

    first, second = request_delivery(), request_delivery()
    work(Reporting())
    assert is_sent(first)
    assert is_sent(second)
    assert (lane().reported_rate, lane().rate_per_second) == (50.0, None)


@pytest.mark.parametrize("nonsense", [0, -1, float("nan"), float("inf"), "5", None, True])
def test_a_rate_that_makes_no_sense_is_not_heeded(
    work: Work, waiting: Delivery, nonsense: object
) -> None:
    provider = FakeProvider()
    provider.reported_rate = nonsense  # type: ignore[attr-defined]
    work(provider)
    assert is_sent(waiting)
    assert lane().reported_rate is None
