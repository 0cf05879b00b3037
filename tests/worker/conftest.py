"""Fixtures: workers, the real provider at the sandbox, and deliveries that wait for them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from deliveries.models import Delivery
from deliveries.providers import Provider
from deliveries.providers.sandbox import SandboxProvider
from deliveries.sandbox import SandboxProvider as Sandbox
from invoices.models import Organization
from tests import factories
from tests.worker.stage import PATIENCE_SECONDS, Running, make_worker

Start = Callable[..., Running]
Work = Callable[..., None]
Request = Callable[..., Delivery]


@pytest.fixture
def start(transactional_db: None) -> Iterator[Start]:
    """Start a worker in a thread; in the end every one is stopped and must have ended well."""
    started: list[Running] = []

    def run(provider: Provider, **options: Any) -> Running:
        started.append(Running(make_worker(provider, **options)))
        return started[-1]

    yield run
    for running in started:
        if running.thread.is_alive():
            running.stop()
    connection.close()


@pytest.fixture
def work(transactional_db: None) -> Work:
    """Work what is due, as `run_delivery_worker --once` does."""

    def once(provider: Provider, **options: Any) -> None:
        make_worker(provider, **options).run(once=True)

    return once


@pytest.fixture
def provider(sandbox: Sandbox) -> SandboxProvider:
    """The real provider, talking HTTP to the sandbox."""
    return SandboxProvider(sandbox.url, timeout_seconds=PATIENCE_SECONDS)


@pytest.fixture
def mainland(transactional_db: None) -> Organization:
    return factories.make_organization()


@pytest.fixture
def request_delivery(mainland: Organization) -> Request:
    """Request an invoice's e-mail, now by the database's clock."""

    def make(**values: Any) -> Delivery:
        invoice = values.pop("invoice", None) or factories.make_invoice(mainland, **values)
        return factories.make_delivery(invoice, now=None)

    return make


@pytest.fixture
def waiting(request_delivery: Request) -> Delivery:
    """One delivery that is due."""
    return request_delivery(number="INV-0001")


@pytest.fixture
def support(transactional_db: None) -> User:
    return User.objects.create(username="support")
