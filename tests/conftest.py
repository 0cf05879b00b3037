"""Fixtures for every test: the people, an organization, an invoice, the sandbox provider."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from deliveries.models import Delivery
from deliveries.sandbox import SandboxProvider
from invoices.models import Invoice, Organization
from tests import factories


@pytest.fixture(autouse=True)
def quick_passwords(request: pytest.FixtureRequest, settings: Settings) -> None:
    """Hash passwords cheaply, but not where a real process must be able to check them."""
    if "fleet" not in request.fixturenames:
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def organization(db: None) -> Organization:
    return factories.make_organization()


@pytest.fixture
def owner(organization: Organization) -> User:
    return factories.make_member(organization, "owner", "owner")


@pytest.fixture
def viewer(organization: Organization) -> User:
    return factories.make_member(organization, "viewer", "viewer")


@pytest.fixture
def outsider(db: None) -> User:
    elsewhere = factories.make_organization("nordlicht", name="Nordlicht Kaffee GmbH")
    return factories.make_member(elsewhere, "outsider", "owner")


@pytest.fixture
def invoice(organization: Organization) -> Invoice:
    return factories.make_invoice(organization, number="INV-0001")


@pytest.fixture
def delivery(invoice: Invoice) -> Delivery:
    return factories.make_delivery(invoice)


@pytest.fixture
def sandbox() -> Iterator[SandboxProvider]:
    with SandboxProvider() as provider:
        yield provider
