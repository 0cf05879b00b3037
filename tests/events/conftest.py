"""Fixtures for provider events: our secret, and a delivery that was sent as msg-41."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from deliveries.models import Delivery
from tests.events.provider import KEY, payload, post
from tests.ledger.programs import Program
from tests.ledger.steps import SENT, claim_one, hand_over, settle


@pytest.fixture(autouse=True)
def secret(settings: Settings) -> None:
    settings.EMAIL_PROVIDER_WEBHOOK_KEYS = [KEY]


@pytest.fixture
def sent(delivery: Delivery) -> Delivery:
    """A delivery that the provider accepted as msg-41."""
    claim = claim_one()
    hand_over(claim)
    settle(claim, SENT)
    delivery.refresh_from_db()
    return delivery


@pytest.fixture
def program(transactional_db: None) -> Iterator[Callable[[], Program]]:
    started: list[Program] = []

    def start() -> Program:
        started.append(Program())
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def page(client: Client, owner: User) -> Callable[[str], str]:
    client.force_login(owner)

    def get(address: str) -> str:
        answer = client.get(address)
        assert answer.status_code == 200
        return "".join(answer.content.decode().split("\n"))

    return get


@pytest.fixture
def bounced(sent: Delivery) -> Delivery:
    assert post(payload("bounced")).status_code == 202
    return sent
