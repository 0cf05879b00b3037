"""An upgrade under load, and back: from the release before to this one, on real processes.

    make bench ARGS="-k upgrade"                    300 invoices, clicked on meanwhile

As docs/deployment.md tells it: migrate beside the old processes, worker by worker, then the web
server. Then all the way back to the old code, on the new schema. At the end every invoice has one
e-mail, no attempt failed, no lease was lost and no process complained.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from bench.conftest import MakeFleet
from bench.releases import lay_out_the_release_before
from invoicehub.rehearsal.clicking import Clicks
from invoicehub.rehearsal.drills import PASSWORD
from invoicehub.rehearsal.fleet import Fleet, Person
from invoicehub.rehearsal.processes import Process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

INVOICES = int(os.environ.get("UPGRADE_INVOICES", "300"))
NEW: Path = settings.BASE_DIR


class Deployment:
    """A web server and two workers, whose release is changed while people click."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.web = fleet.start_web()
        self.workers = [fleet.start_worker(name=f"w{place}") for place in (1, 2)]
        fleet.until_workers_are_present(2)

    def turn_to(self, code: Path) -> None:
        """Turn the link, then restart worker by worker, then the web server."""
        self.fleet.code = code
        for place, old in enumerate(self.workers):
            self.workers[place] = self.fleet.start_worker(name=f"{old.name}+")
            assert old.terminate() == 0, old.output()[-2000:]
        self.fleet.until_workers_are_present(2)
        self.web = self.fleet.restart_web(self.web)


def test_an_upgrade_under_load_and_back_loses_nothing_and_doubles_nothing(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    old = tmp_path / "release-before"
    commit = lay_out_the_release_before(old)
    fleet = make_fleet(invoices=INVOICES, code=old)
    fleet.provider.fail(delay_ms=200)
    started = time.monotonic()
    deployment = Deployment(fleet)
    person = Person(fleet.web_url, username="finance", password=PASSWORD)
    with Clicks(person, _drafts(fleet.database_url), pause_seconds=0.15) as clicks:
        clicks.let(0.2)
        fleet.code = NEW
        assert fleet.run("migrate", "--noinput") == 0
        clicks.let(0.4)  # The old processes on the new schema.
        deployment.turn_to(NEW)
        clicks.let(0.6)
        deployment.turn_to(old)
        clicks.let(0.8)
        deployment.turn_to(NEW)
    fleet.until(lambda: set(_states(fleet.database_url)) == {"sent"}, "all are sent", seconds=120)
    assert [worker.terminate() for worker in deployment.workers] == [0, 0]
    _report(fleet, clicks, commit, time.monotonic() - started)


def _rows(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement.encode()).fetchall()


def _drafts(url: str) -> list[int]:
    found = _rows(url, "SELECT id FROM invoices_invoice WHERE number LIKE 'DEMO-%' ORDER BY id")
    return [int(str(row[0])) for row in found]


def _states(url: str) -> Counter[str]:
    return Counter(str(row[0]) for row in _rows(url, "SELECT status FROM deliveries_delivery"))


def _complaints(processes: list[Process]) -> list[str]:
    """Return what the processes said that is above INFO, or no line of ours at all."""
    found = []
    for process in processes:
        for line in process.output().splitlines():
            level = json.loads(line)["level"] if line.startswith("{") else "unstructured"
            if level not in {"DEBUG", "INFO"}:
                found.append(f"{process.name}: {line}")
    return found


def _report(fleet: Fleet, clicks: Clicks, commit: str, seconds: float) -> None:
    url = fleet.database_url
    inbox = Counter(message["subject"].split()[1] for message in fleet.provider.messages())
    numbers = {str(row[0]) for row in _rows(url, "SELECT reference FROM deliveries_delivery")}
    events = Counter(str(row[0]) for row in _rows(url, "SELECT type FROM deliveries_deliveryevent"))
    attempts = Counter(_rows(url, "SELECT attempts, claims FROM deliveries_delivery"))
    said = _complaints([p for p in fleet.processes if p.name[0] == "w"])
    answers = Counter(answer.status_code for answer in clicks.answers)
    print(
        f"\nupgrade from {commit[:7]} and back and forth: {INVOICES} invoices, {seconds:.0f} s\n"
        f"  answers {dict(answers)}, connections refused or cut and tried again "
        f"{clicks.not_answered}\n  states {dict(_states(url))}, (attempts, claims) "
        f"{dict(attempts)}\n  events {dict(events)}\n"
        f"  lost {len(numbers - inbox.keys())}, doubled {sum(n > 1 for n in inbox.values())}, "
        f"complaints {len(said)}"
    )
    assert set(answers) == {202}
    assert inbox == dict.fromkeys(numbers, 1)
    assert len(numbers) == INVOICES
    assert attempts == {(1, 0): INVOICES}
    assert not events.keys() & {"lease_lost", "attempt_failed", "died"}
    assert said == []
