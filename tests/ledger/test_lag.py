from datetime import timedelta

import pytest

from deliveries import ledger
from deliveries.models import Delivery
from invoices.models import Organization
from tests import factories
from tests.ledger.steps import Status, at, bring_to


@pytest.mark.parametrize("status", [Status.QUEUED, Status.RETRYING])
def test_the_lag_is_the_age_of_what_waits(delivery: Delivery, status: str) -> None:
    bring_to(delivery, status)
    assert ledger.lag("email", now=at(90)) == timedelta(seconds=90)


@pytest.mark.parametrize("status", sorted(set(Status.values) - {Status.QUEUED, Status.RETRYING}))
def test_what_does_not_wait_has_no_lag(delivery: Delivery, status: str) -> None:
    bring_to(delivery, status)
    assert ledger.lag("email", now=at(90)) is None


def test_the_oldest_counts(organization: Organization) -> None:
    for seconds in (30, 10, 20):
        factories.make_delivery(factories.make_invoice(organization), now=at(seconds))
    assert ledger.lag("email", now=at(100)) == timedelta(seconds=90)


def test_another_lanes_backlog_is_not_ours(delivery: Delivery) -> None:
    assert ledger.lag("webhooks", now=at(90)) is None
