"""A fleet of real processes on the test's own database."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection

from deliveries.models import Delivery
from invoicehub.rehearsal.fleet import Fleet, Person
from invoicehub.rehearsal.processes import Process
from invoicehub.rehearsal.waiting import wait_for
from invoices.models import Organization
from tests import factories

# Nobody renews a dead worker's lease, so the tests need not wait long for its end.
SHORT_LEASE = {"DELIVERY_LEASE_SECONDS": "2", "DELIVERY_SEND_TIMEOUT_SECONDS": "1"}
DYING_WORKER = Path(__file__).with_name("dying_worker.py")


# What every change is tried on; the others are left to the thorough run.
EVERYDAY = {"test_story.py", "test_crashes.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.process)
            if item.path.name not in EVERYDAY and not item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.thorough)


@pytest.fixture
def fleet(transactional_db: None, tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(database_url=database_url(), folder=tmp_path) as fleet:
        fleet.start_provider()
        yield fleet


def database_url() -> str:
    """Return how another process reaches the test's database."""
    reach = connection.get_connection_params()
    return (
        f"postgres://{reach['user']}@/{reach['dbname']}"
        f"?host={quote(str(reach['host']))}&port={reach['port']}"
    )


@pytest.fixture
def mainland(transactional_db: None) -> Organization:
    return factories.make_organization()


@pytest.fixture
def finance(mainland: Organization) -> User:
    return factories.make_member(mainland, "finance", "owner")


@pytest.fixture
def person(fleet: Fleet, finance: User) -> Person:
    """The finance user, logged in at a running web server."""
    fleet.start_web()
    return Person(fleet.web_url, username="finance", password="a long password 1")


def settled(delivery_id: int) -> Delivery:
    """Wait until the delivery is final; return it."""
    wait_for(
        lambda: Delivery.objects.filter(pk=delivery_id, status__in=Delivery.FINAL).exists(),
        f"delivery {delivery_id} becomes final",
        seconds=60,
    )
    return Delivery.objects.get(pk=delivery_id)


def log_lines(*processes: Process) -> list[dict[str, Any]]:
    """Return the JSON lines that the processes logged."""
    lines = [line for process in processes for line in process.output().splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def event_types(delivery: Delivery) -> list[str]:
    return list(delivery.events.values_list("type", flat=True))


Dies = Callable[[str], Process]


@pytest.fixture
def worker_that_dies(fleet: Fleet) -> Dies:
    """Start a worker that SIGKILLs itself at the named point; return it when it is dead."""

    def start(point: str) -> Process:
        worker = fleet.start_script(f"dies-{point}", DYING_WORKER, point, **SHORT_LEASE)
        assert worker.wait() == -9, worker.output()
        return worker

    return start
