"""A million overdue invoices in one run, against a loop; what a claim and a click cost meanwhile.

make bench ARGS="-k reminders"
"""

import resource
import statistics
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection, connections, transaction

from deliveries import kinds, ledger
from deliveries.models import Delivery
from invoicehub.rehearsal.fleet import Fleet
from invoicehub.rehearsal.processes import manage
from invoices import reminders, sending
from invoices.calendar import is_run_day
from invoices.models import Customer, Invoice, Organization
from tests import factories
from tests.process.conftest import database_url

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

INVOICES = 1_000_000
ORGANIZATIONS = 1_000
LOOPED = 3_000


def test_a_million_reminders_are_recorded_in_one_run(
    transactional_db: None, tmp_path: Path
) -> None:
    day = datetime.now(UTC).date()
    while not is_run_day(day):
        day -= timedelta(days=1)
    _make_invoices()
    loop_rate = _loop(day - timedelta(days=365))
    clicks, claims = Sampler(_click), Sampler(_claim_and_release)
    with Fleet(database_url=database_url(), folder=tmp_path) as fleet:
        started = time.monotonic()
        run = fleet.start("run", manage("enqueue_reminders", "--date", str(day)))
        clicks.start()
        claims.start()
        assert run.wait(seconds=900) == 0, run.output()
        seconds = time.monotonic() - started
        clicks.stop()
        claims.stop()
        first = time.monotonic()
        again = fleet.start("again", manage("enqueue_reminders", "--date", str(day)))
        assert again.wait(seconds=900) == 0
        again_seconds = time.monotonic() - first
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    made = Delivery.objects.filter(dedupe_key__endswith=f":{day}").count()
    assert made == INVOICES
    rate = INVOICES / seconds
    print(
        f"\n{INVOICES:,} reminders recorded in {seconds:.0f} s: {rate:,.0f}/s, "
        f"{rate / loop_rate:.0f} times a loop of requests ({loop_rate:,.0f}/s)\n"
        f"  the same again, nothing new: {again_seconds:.0f} s\n"
        f"  peak memory of the process: {memory:.0f} MiB\n"
        f"  a click meanwhile: {clicks}\n  a claim of 20 meanwhile: {claims}"
    )
    assert rate > 20 * loop_rate


class Sampler(threading.Thread):
    """Does one thing over and over, and keeps how long each time took."""

    def __init__(self, what: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._what = what
        self._over = threading.Event()
        self._milliseconds: list[float] = []

    def run(self) -> None:
        while not self._over.wait(0.05):
            started = time.monotonic()
            self._what()
            self._milliseconds.append((time.monotonic() - started) * 1000)
        connections.close_all()

    def stop(self) -> None:
        self._over.set()
        self.join()

    def __str__(self) -> str:
        taken = self._milliseconds
        cuts = statistics.quantiles(taken, n=20)
        return (
            f"median {statistics.median(taken):.1f} ms, p95 {cuts[18]:.1f} ms, "
            f"max {max(taken):.1f} ms ({len(taken)} times)"
        )


def _make_invoices() -> None:
    """Make overdue invoices of many organizations, sent long ago."""
    organizations = [
        factories.make_organization(f"organization-{number}") for number in range(ORGANIZATIONS)
    ]
    for organization in organizations:
        Customer.objects.create(organization=organization, name="C", email="c@customer.example")
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO invoices_invoice
                (organization_id, customer_id, number, status, currency, amount_minor, issued_on,
                 due_on, payment_terms, notes, failure_reason, sent_at, reminders_paused)
            SELECT c.organization_id, c.id, 'N-' || n, 'sent', 'NGN', 100000, '2025-01-01',
                   '2025-02-01'::date + (n %% 60)::int, '', '', '', '2025-01-01', false
            FROM generate_series(1, %s) n
            JOIN (SELECT *, row_number() OVER (ORDER BY id) AS place FROM invoices_customer) c
              ON c.place = 1 + n %% %s
            """,
            [INVOICES, ORGANIZATIONS],
        )
        cursor.execute("ANALYZE invoices_invoice")


def _loop(day: object) -> float:
    """Record reminders one by one, as a loop over the ORM does; return how many a second."""
    kind = kinds.get(reminders.KIND)
    invoices = Invoice.objects.filter(status="sent").order_by("due_on", "id")[:LOOPED]
    started = time.monotonic()
    for invoice in invoices.iterator():
        with transaction.atomic():
            ledger.request(
                invoice, kind=kind, dedupe_key=f"loop:{invoice.pk}:{day}", reference=invoice.number
            )
    return LOOPED / (time.monotonic() - started)


def _click() -> None:
    draft = factories.make_invoice(_any_organization())
    user = None
    with transaction.atomic():
        sending.send(draft.pk, organization=draft.organization, user_id=user)  # type: ignore[arg-type]


def _any_organization() -> Organization:
    return Organization.objects.order_by("pk")[0]


def _claim_and_release() -> None:
    ledger.configure("email", limit=1000, rate_per_second=None)
    claims = ledger.claim(
        "email", worker="bench", capacity=20, lease=timedelta(minutes=1), max_claims=3
    )
    ledger.release(claims, why="measured", worker="bench")
