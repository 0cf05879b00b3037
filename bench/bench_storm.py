"""The storm: thousands of deliveries while workers die, the provider fails, PostgreSQL restarts.

    make bench ARGS="-k storm"                      2,000 deliveries, 100 kills, seed 20260302
    STORM_SEED=7 make bench ARGS="-k storm"         another storm, as reproducible

At the end every delivery is sent, nobody is missing, and nobody has two e-mails.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from bench.conftest import MakeFleet
from invoicehub.embedded import server
from invoicehub.management.commands.drill import restart
from invoicehub.rehearsal.fleet import Fleet
from invoicehub.rehearsal.processes import Process
from invoicehub.rehearsal.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

DELIVERIES = int(os.environ.get("STORM_DELIVERIES", "2000"))
KILLS = int(os.environ.get("STORM_KILLS", "100"))
SEED = int(os.environ.get("STORM_SEED", "20260302"))

SEND_ALL = """
from django.contrib.auth.models import User
from invoices.models import Invoice
from invoices.sending import send
user = User.objects.get(username="finance").pk
for invoice in Invoice.objects.filter(number__startswith="DEMO-").select_related("organization"):
    send(invoice.pk, organization=invoice.organization, user_id=user)
"""

SETTINGS = {
    # Every worker is killed many times; no delivery is to blame for it.
    "DELIVERY_MAX_CLAIMS": "1000",
    "DELIVERY_CONCURRENCY": "20",
    "DELIVERY_LEASE_SECONDS": "4",
    "DELIVERY_SEND_TIMEOUT_SECONDS": "2",
    "LOG_LEVEL": "WARNING",
}


def test_a_storm_loses_nothing_and_doubles_nothing(make_fleet: MakeFleet, tmp_path: Path) -> None:
    fleet = make_fleet(invoices=DELIVERIES, **SETTINGS)
    assert fleet.run("shell", "-c", SEND_ALL) == 0
    fleet.provider.fail(random_failure={"rate": 0.2, "seed": SEED}, delay_ms=200)
    started = time.monotonic()
    kills = _storm(fleet, lambda: restart(server.start(tmp_path / "postgres")))
    wait_for(lambda: _unfinished(fleet.database_url) == 0, "every delivery is final", seconds=900)
    _report(fleet, kills, time.monotonic() - started)


def _storm(fleet: Fleet, restart_postgres: Callable[[], None]) -> int:
    dice = random.Random(SEED)
    workers = [fleet.start_worker() for _ in range(3)]
    fleet.until_workers_are_present(1)
    for kill in range(KILLS):
        _let_pass(dice.uniform(0.5, 2.5))
        victim: Process = workers.pop(dice.randrange(3))
        victim.kill()
        workers.append(fleet.start_worker())
        if kill == KILLS // 2:
            restart_postgres()
    return KILLS


def _let_pass(seconds: float) -> None:
    until = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() >= until, "time passes", seconds=seconds + 60)


def _unfinished(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM deliveries_delivery "
            "WHERE status NOT IN ('sent', 'dead', 'cancelled')"
        ).fetchone()
        return row[0] if row else 0


def _takeovers(url: str) -> str:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT (details->>'lease_over_for_seconds')::float FROM deliveries_deliveryevent "
            "WHERE type = 'lease_lost'"
        ).fetchall()
    seconds = sorted(float(row[0]) for row in rows)
    return f"median {seconds[len(seconds) // 2]:.2f} s, max {seconds[-1]:.2f} s past its end"


_EVENTS = ("deliveries_deliveryevent", "type")


def _counts(url: str, table: str, column: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(f"SELECT {column}, count(*) FROM {table} GROUP BY 1").fetchall()
    return {str(value): int(count) for value, count in rows}


def _report(fleet: Fleet, kills: int, seconds: float) -> None:
    url = fleet.database_url
    states, events = _counts(url, "deliveries_delivery", "status"), _counts(url, *_EVENTS)
    numbers = _counts(url, "deliveries_delivery", "reference")
    inbox = Counter(message["subject"].split()[1] for message in fleet.provider.messages())
    lost = [number for number in numbers if not inbox[number]]
    doubled = [number for number, emails in inbox.items() if emails > 1]
    print(
        f"\nstorm, seed {SEED}: {DELIVERIES} deliveries, {kills} workers killed, one PostgreSQL "
        f"restart, {seconds:.0f} s\n  states {states}\n  events {events}\n"
        f"  a lost lease was taken over after {_takeovers(url)}\n"
        f"  lost {len(lost)}, doubled {len(doubled)}"
    )
    assert states == {"sent": DELIVERIES}
    assert lost == []
    assert doubled == []
