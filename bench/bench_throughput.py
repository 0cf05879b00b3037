"""How many e-mails a second go out, by the number of worker processes and of threads in each.

make bench ARGS="-k throughput"

The clicks are all made before the workers start, so that only the workers are measured: by
PostgreSQL's clock, from the first hand-over to the last delivery settled, each with its PDF. The
provider and PostgreSQL share the cores. Beside other load believe the CPU time, not the rate.
"""

import os
from pathlib import Path

import psycopg
import pytest

from bench.conftest import MakeFleet
from invoicehub.rehearsal.fleet import Fleet
from invoicehub.rehearsal.processes import Process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

DELIVERIES = int(os.environ.get("BENCH_DELIVERIES", "400"))
# Worker processes, threads in each, and what one call takes at the provider in ms.
RUNS = [
    *((workers, 5, 0) for workers in (1, 2, 4)),
    *((workers, 5, 100) for workers in (1, 2, 4)),
    *((1, threads, 100) for threads in (1, 10, 20)),
]

SEND_SOME = f"""
from django.contrib.auth.models import User
from invoices.models import Invoice
from invoices.sending import send
user = User.objects.get(username="finance").pk
drafts = Invoice.objects.filter(number__startswith="DEMO-", status="draft")
for invoice in drafts.select_related("organization").order_by("pk")[:{DELIVERIES}]:
    send(invoice.pk, organization=invoice.organization, user_id=user)
"""
_IS_DONE = "SELECT count(*) = 0 FROM deliveries_delivery WHERE status <> 'sent'"
_RATE = f"""
    SELECT count(*) / extract(epoch FROM max(finished_at) - min(handed_over_at))
    FROM (SELECT * FROM deliveries_delivery ORDER BY id DESC LIMIT {DELIVERIES}) latest
"""
_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
_CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def test_throughput_by_workers_and_threads(make_fleet: MakeFleet) -> None:
    invoices = DELIVERIES * len(RUNS)
    fleet = make_fleet(invoices=invoices, LOG_LEVEL="WARNING", DELIVERY_CONCURRENCY="100")
    print(
        f"\n{DELIVERIES:,} e-mails each\n"
        "  workers  threads  provider  per second  of the ideal  ms of CPU each  connections"
    )
    for workers, threads, delay in RUNS:
        rate, cpu, connections = _measure(fleet, workers, threads, delay)
        ideal = f"{rate / (workers * threads * 1000 / delay):.0%}" if delay else "–"
        print(
            f"  {workers:7}  {threads:7}  {delay:5} ms  {rate:10.0f}  {ideal:>12}  {cpu:14.1f}"
            f"  {connections:11}"
        )


def _measure(fleet: Fleet, workers: int, threads: int, delay: int) -> tuple[float, float, int]:
    """Return the rate, the workers' CPU time for each, and PostgreSQL's connections at the end."""
    assert fleet.run("shell", "-c", SEND_SOME) == 0
    fleet.provider.fail(delay_ms=delay)
    with psycopg.connect(fleet.database_url) as starting_gun:
        # Every worker needs its lane: until this is let go, they start and wait.
        starting_gun.execute("LOCK TABLE deliveries_lane IN EXCLUSIVE MODE")
        running = [fleet.start_worker("--threads", str(threads)) for _ in range(workers)]
        fleet.until(lambda: _ask(fleet.database_url, _WAITING) == workers, "they wait")
        before = _cpu_seconds(running)
    fleet.until(lambda: _ask(fleet.database_url, _IS_DONE), "all are sent", seconds=900)
    cpu = _cpu_seconds(running) - before
    connections = int(_ask(fleet.database_url, _CONNECTIONS))
    assert [worker.terminate() for worker in running] == [0] * workers
    return float(_ask(fleet.database_url, _RATE)), cpu * 1000 / DELIVERIES, connections


def _cpu_seconds(processes: list[Process]) -> float:
    """Return what they themselves have used so far, as Linux counts it."""
    stats = [Path(f"/proc/{process.pid}/stat").read_text() for process in processes]
    ticks = [stat.rpartition(")")[2].split()[11:13] for stat in stats]
    return sum(int(user) + int(system) for user, system in ticks) / os.sysconf("SC_CLK_TCK")


def _ask(url: str, question: str) -> float:
    with psycopg.connect(url) as connection:
        row = connection.execute(question).fetchone()
    return float(row[0]) if row else 0.0
