"""A million old deliveries archived while a worker keeps sending, and what the archive costs then.

BENCH_DELIVERIES=1300000 make bench ARGS="-k archive"
"""

import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from bench import history
from deliveries import kinds, ledger
from deliveries.ledger import Wanted
from deliveries.models import Delivery
from deliveries.outcomes import Sent
from invoices.models import Invoice

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

# Two years' worth, of which the last 90 days stay: a million and some are moved.
DELIVERIES = int(os.environ.get("BENCH_DELIVERIES", "1300000"))
AT_ONCE = 20
MEASURED_BEFORE_SECONDS = 10


@pytest.fixture
def years(transactional_db: None) -> Iterator[None]:
    history.DEAD = history.WAITING = 1
    history.make(DELIVERIES)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence('deliveries_delivery', 'id'), %s)",
            [DELIVERIES + 1_000],
        )
    yield
    history.forget()


class Sending(threading.Thread):
    """Requests, claims and settles as a worker's dispatcher does, as quickly as it can."""

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()
        self.sent = 0
        self.slowest = 0.0

    def run(self) -> None:
        try:
            invoices = list(Invoice.objects.order_by("pk")[:AT_ONCE])
            while not self.over.is_set():
                began = time.monotonic()
                self._round(invoices)
                self.slowest = max(self.slowest, time.monotonic() - began)
        finally:
            connection.close()

    def _round(self, invoices: list[Invoice]) -> None:
        ledger.request_many(
            [
                Wanted(
                    organization_id=invoice.organization_id,
                    invoice_id=invoice.pk,
                    dedupe_key=f"bench:{self.sent + place}",
                    reference=invoice.number,
                )
                for place, invoice in enumerate(invoices)
            ],
            kind=kinds.get("reminder"),
        )
        with transaction.atomic():
            claims = ledger.claim(
                "email",
                worker="bench",
                capacity=AT_ONCE,
                lease=timedelta(seconds=60),
                max_claims=3,
            )
        settlements = [
            (claim, Sent(provider_message_id=f"bench-{claim.delivery_id}")) for claim in claims
        ]
        ledger.settle_batch(settlements, worker="bench")
        self.sent += len(claims)


def test_a_million_deliveries_are_archived_while_a_worker_sends(years: None) -> None:
    ledger.configure("email", limit=AT_ONCE, rate_per_second=None)
    sending = Sending()
    sending.start()
    time.sleep(MEASURED_BEFORE_SECONDS)
    alone, slowest_alone = sending.sent / MEASURED_BEFORE_SECONDS, sending.slowest
    sending.slowest = 0.0
    before, began = sending.sent, time.monotonic()
    *_, moved = ledger.archive(older_than=timedelta(days=90))
    seconds = time.monotonic() - began
    beside = (sending.sent - before) / seconds
    slowest = sending.slowest
    sending.over.set()
    sending.join()
    assert ledger.sum_up().live + moved.deliveries == Delivery.objects.count()
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d}: {moved.deliveries:,} deliveries and {moved.events:,} "
        f"steps archived in {seconds:.0f} s: {moved.deliveries / seconds:,.0f} deliveries/s\n"
        f"  a worker's database work alone {alone:,.0f} deliveries/s (slowest round of {AT_ONCE} "
        f"{slowest_alone * 1000:.0f} ms), beside the archiver {beside:,.0f}/s "
        f"(slowest {slowest * 1000:.0f} ms)"
    )
