"""A Friday morning, an invoice that is overdue, and who looks at it."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from freezegun import freeze_time

from invoices.models import Invoice, Organization
from tests import factories
from tests.invoices.reminders.runs import make_overdue


@pytest.fixture(autouse=True)
def friday_morning() -> Iterator[None]:
    with freeze_time("2026-03-06 09:00"):
        yield


@pytest.fixture
def member(organization: Organization) -> User:
    return factories.make_member(organization, "member", "member")


@pytest.fixture
def overdue(organization: Organization) -> Invoice:
    return make_overdue(organization, number="INV-0001")
