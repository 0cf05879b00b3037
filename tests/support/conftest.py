"""The people who work in the admin, by role, and letters for them to work on."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from deliveries import ledger
from deliveries.models import Delivery, Lane
from deliveries.outcomes import Dead
from tests import factories

REFUSED = Dead(
    reason=Delivery.DeadReason.REJECTED,
    error="The provider refused it (422): no such address",
    may_have_accepted=False,
)


LogIn = Callable[[User], Client]


def make_staff(role: str) -> User:
    person = User.objects.create_user(role.lower(), password="a password", is_staff=True)
    person.groups.add(Group.objects.get(name=role))
    return person


@pytest.fixture
def support(db: None) -> User:
    return make_staff("Support")


@pytest.fixture
def operations(db: None) -> User:
    return make_staff("Operations")


@pytest.fixture
def auditor(db: None) -> User:
    return make_staff("Auditor")


@pytest.fixture
def superuser(db: None) -> User:
    return User.objects.create_superuser("admin", password="a password")


@pytest.fixture
def log_in() -> LogIn:
    def log_in(person: User) -> Client:
        client = Client()
        client.force_login(person)
        return client

    return log_in


@pytest.fixture
def lane(db: None) -> Lane:
    ledger.configure("email", limit=5, rate_per_second=None)
    return Lane.objects.get(pk="email")


@pytest.fixture
def steerer(lane: Lane, operations: User, log_in: LogIn) -> Client:
    return log_in(operations)


@pytest.fixture
def dead(delivery: Delivery) -> Delivery:
    return kill(delivery)


def kill(delivery: Delivery, outcome: Dead = REFUSED) -> Delivery:
    """Have a worker claim it and record that outcome, now."""
    ledger.configure("email", limit=5, rate_per_second=None)
    [claim] = ledger.claim(
        "email", worker="worker-1", capacity=1, lease=timedelta(minutes=1), max_claims=3
    )
    assert claim.delivery_id == delivery.pk
    ledger.settle(claim, outcome, worker="worker-1")
    delivery.refresh_from_db()
    return delivery


def another(delivery: Delivery) -> Delivery:
    """Request the e-mail of another invoice of that organization."""
    return factories.make_delivery(factories.make_invoice(delivery.organization))
