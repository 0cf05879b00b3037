"""The tag that Resend's adapter writes is the one by which its events find their delivery."""

from collections.abc import Iterator
from typing import Any

import pytest

from deliveries import events
from deliveries.models import Delivery, ProviderEvent
from deliveries.providers import Receipt
from deliveries.providers.resend import ResendProvider
from tests.events.provider import payload, post
from tests.ledger.steps import fresh
from tests.providers.raw_server import PATIENCE_SECONDS
from tests.providers.resend_server import API_KEY, ResendServer
from tests.worker.stage import FakeProvider, make_worker


@pytest.fixture
def resend() -> Iterator[ResendServer]:
    server = ResendServer()
    yield server
    server.close()


def tags_of(resend: ResendServer) -> tuple[str, dict[str, str]]:
    """Return the accepted e-mail's id, and its tags as Resend's events give them back."""
    [(id_, email)] = resend.emails.items()
    return id_, {tag["name"]: tag["value"] for tag in email["tags"]}


def test_an_event_before_our_settling_finds_its_delivery(
    transactional_db: None, delivery: Delivery, resend: ResendServer
) -> None:
    """Posted in mid-hand-over, when nobody but the provider knows the message's id."""
    real = ResendProvider(resend.url, api_key=API_KEY, timeout_seconds=PATIENCE_SECONDS)
    seen: list[Any] = []

    def send(message: Any, key: str) -> Receipt:
        receipt = real.send(message, idempotency_key=key)
        id_, tags = tags_of(resend)
        assert post(payload("bounced", message_id=id_, tags=tags)).status_code == 202
        event = ProviderEvent.objects.get()
        seen.append((event.delivery_id, event.state, fresh(delivery).status))
        return receipt

    make_worker(FakeProvider(send)).run(once=True)
    real.close()
    assert seen == [(delivery.pk, "waiting", "running")]
    assert (fresh(delivery).status, fresh(delivery).after_sending) == ("sent", "bounced")
    assert ProviderEvent.objects.get().state == "applied"


def test_an_event_of_an_answer_that_was_lost_shows_on_its_delivery(
    transactional_db: None, delivery: Delivery, resend: ResendServer
) -> None:
    resend.drop_answers = 1
    real = ResendProvider(resend.url, api_key=API_KEY, timeout_seconds=PATIENCE_SECONDS)
    # One attempt is all: the delivery is dead, and nobody knows whether it was sent.
    make_worker(real, max_attempts=1).run(once=True)
    assert (fresh(delivery).status, fresh(delivery).may_have_arrived) == ("dead", True)
    id_, tags = tags_of(resend)
    post(payload("delivered", message_id=id_, tags=tags))
    assert delivery.provider_events.get().outcome == "delivered"


@pytest.mark.parametrize("name", events.TAGS)
def test_either_name_of_the_tag_is_understood(name: str) -> None:
    body = b'{"type": "email.bounced", "data": {"tags": {"%s": "delivery-1"}}}' % name.encode()
    assert events.read(body, event_id="evt_1").tag == "delivery-1"
