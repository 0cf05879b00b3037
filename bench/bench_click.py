"""How long a click waits: for its answer, and for an idle worker to start on it.

make bench ARGS="-k click"
"""

import json
import statistics
import time
from datetime import datetime
from pathlib import Path

import psycopg
import pytest

from bench.conftest import MakeFleet
from invoicehub.rehearsal.drills import PASSWORD
from invoicehub.rehearsal.fleet import Person

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CLICKS = 100


def test_a_click_is_answered_at_once_and_started_at_once(make_fleet: MakeFleet) -> None:
    # A poll of five minutes: only the notice can have woken the worker.
    fleet = make_fleet(invoices=CLICKS, DELIVERY_POLL_SECONDS="300")
    web = fleet.start_web()
    worker = fleet.start_worker()
    fleet.until_workers_are_present(1)
    person = Person(fleet.web_url, username="finance", password=PASSWORD)
    answered = []
    for invoice in _drafts(fleet.database_url):
        started = time.monotonic()
        assert person.send(invoice).status_code == 202
        answered.append((time.monotonic() - started) * 1000)
        fleet.until(lambda: _sent(fleet.database_url) >= len(answered), "it is sent")
    requested = _moments(web.log, "delivery requested")
    begun = _moments(worker.log, "attempt started")
    delays = [(begun[key] - requested[key]) * 1000 for key in requested]
    print(
        f"\n{len(delays)} clicks, one idle worker\n"
        f"  answered in ms: {_spread(answered)}\n"
        f"  from the request's INSERT to the start of its attempt in ms: {_spread(delays)}"
    )
    assert len(delays) == CLICKS


def _spread(values: list[float]) -> str:
    cuts = statistics.quantiles(values, n=20)
    return f"median {statistics.median(values):.1f}, p95 {cuts[18]:.1f}, max {max(values):.1f}"


def _drafts(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT id FROM invoices_invoice WHERE number LIKE 'DEMO-%' ORDER BY id"
        ).fetchall()
    return [int(row[0]) for row in rows]


def _sent(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM deliveries_delivery WHERE status = 'sent'"
        ).fetchone()
    return int(row[0]) if row else 0


def _moments(log: Path, message: str) -> dict[int, float]:
    """Return when each delivery's line with that message was written, in seconds."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return {
        line["delivery"]: datetime.fromisoformat(line["at"]).timestamp()
        for line in lines
        if line["message"] == message
    }
