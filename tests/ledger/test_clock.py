"""Time is the database's: one clock for the whole fleet, whatever a worker's own clock says."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from freezegun import freeze_time

from deliveries import ledger
from deliveries.models import Delivery, DeliveryEvent
from invoices.models import Invoice
from tests import factories
from tests.ledger.steps import KEY_LIFETIME, LEASE, NEEDS, REFUSED, RETRY, Status, fresh

HOUR = timedelta(hours=1)


def database_clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
        return moment


@pytest.fixture
def delivery(invoice: Invoice) -> Delivery:
    return factories.make_delivery(invoice, now=None)


def claim_one() -> ledger.Claim:
    [claimed] = ledger.claim("email", worker="w", capacity=1, lease=LEASE, max_claims=3)
    return claimed


def test_every_step_is_dated_by_the_database(delivery: Delivery, support: User) -> None:
    with freeze_time("2001-01-01"):
        held = claim_one()
        ledger.begin_hand_over(
            held, factories.make_message(), needs=NEEDS, key_lifetime=KEY_LIFETIME
        )
        ledger.extend([held], lease=HOUR)
        until = fresh(delivery).locked_until
        ledger.settle(held, REFUSED, worker="w")
        finished = fresh(delivery).finished_at
        ledger.replay(delivery.pk, actor_id=support.pk, reason="mended", key_lifetime=KEY_LIFETIME)
        ledger.cancel(delivery.pk, actor_id=support.pk, why="sent by post")
    now = database_clock()
    assert until
    assert finished
    assert timedelta(0) < now + HOUR - until < HOUR
    assert timedelta(0) < now - finished < HOUR
    assert all(now - HOUR < event.at < now for event in DeliveryEvent.objects.all())


def test_retries_leases_and_pauses_end_by_the_databases_clock(delivery: Delivery) -> None:
    ledger.settle(claim_one(), RETRY, worker="w")
    ledger.pause("email", reason="Too many requests.", for_=HOUR)
    with freeze_time(datetime.now(UTC) + timedelta(days=1)):
        assert ledger.wake_due("email") == 0
        assert not ledger.ready("email")
        lag = ledger.lag("email")
    assert fresh(delivery).status == Status.RETRYING
    assert lag
    assert timedelta(0) < lag < HOUR
