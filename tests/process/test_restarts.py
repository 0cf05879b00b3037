"""Workers and web servers restarted under load: nothing is lost, doubled, refused or blamed."""

import signal
from collections import Counter

import pytest

from deliveries.models import Delivery, DeliveryEvent
from invoicehub.rehearsal.clicking import Clicks
from invoicehub.rehearsal.fleet import Fleet, Person
from invoicehub.rehearsal.processes import Process
from invoices.models import Organization
from tests import factories
from tests.process.conftest import log_lines

T = DeliveryEvent.Type


@pytest.mark.parametrize(
    ("number", "pause_seconds"),
    [(30, 0.3), pytest.param(300, 0.2, marks=[pytest.mark.slow, pytest.mark.timeout(300)])],
)
def test_a_rolling_restart_under_load_is_noticed_by_nobody(
    fleet: Fleet, person: Person, mainland: Organization, number: int, pause_seconds: float
) -> None:
    invoices = [factories.make_invoice(mainland).pk for _ in range(number)]
    fleet.provider.fail(delay_ms=300)
    [web] = [process for process in fleet.processes if process.name == "web"]
    workers = [fleet.start_worker(name=f"w{place}") for place in (1, 2)]
    fleet.until_workers_are_present(2)
    with Clicks(person, invoices, pause_seconds=pause_seconds) as clicks:
        for place, worker in enumerate(workers):
            clicks.let(0.3 + place / 5)
            assert worker.terminate() == 0
            workers[place] = fleet.start_worker(name=worker.name)
        clicks.let(0.7)
        web.signal(signal.SIGHUP)
        clicks.let(0.9)
        fleet.restart_web(web)
    fleet.until(lambda: not Delivery.objects.exclude(status="sent").exists(), "all are sent")
    assert {answer.status_code for answer in clicks.answers} == {202}
    assert clicks.not_answered  # The web server was away for a moment.
    _assert_nobody_noticed(fleet, number)
    assert [worker.terminate() for worker in workers] == [0, 0]
    _assert_no_complaints(*fleet.processes)


def _assert_nobody_noticed(fleet: Fleet, number: int) -> None:
    inbox = Counter(message["idempotency_key"] for message in fleet.provider.messages())
    assert inbox == dict.fromkeys(Delivery.objects.values_list("idempotency_key", flat=True), 1)
    assert len(inbox) == number
    # A drain finishes what runs: it burns no attempt, loses no lease, and mostly puts nothing back.
    assert set(Delivery.objects.values_list("status", "attempts", "claims")) == {("sent", 1, 0)}
    types = set(DeliveryEvent.objects.values_list("type", flat=True))
    assert types <= {T.REQUESTED, T.REQUESTED_AGAIN, T.RELEASED, T.SENT}


def _assert_no_complaints(*processes: Process) -> None:
    complaints = [
        line for line in log_lines(*processes) if line["level"] in {"WARNING", "ERROR", "CRITICAL"}
    ]
    assert complaints == []
    tracebacks = [p.name for p in processes if "Traceback" in p.output()]
    assert tracebacks == []
