"""Sockets cut and connections terminated at every point: one e-mail, whatever breaks."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from deliveries.models import Delivery, DeliveryEvent
from invoicehub.rehearsal.fleet import Fleet
from invoicehub.rehearsal.processes import Process
from invoices.models import Organization
from tests import factories
from tests.process.conftest import DYING_WORKER, SHORT_LEASE, event_types, settled

T = DeliveryEvent.Type


@pytest.fixture
def waiting(mainland: Organization) -> Delivery:
    return factories.make_delivery(factories.make_invoice(mainland), now=None)


@pytest.mark.parametrize(
    ("fault", "accepted"),
    [
        ("drop_before_next", False),
        pytest.param("drop_after_accept_next", True, marks=pytest.mark.thorough),
        ("cut_mid_answer_next", True),
        pytest.param("hang_next", False, marks=pytest.mark.thorough),
        pytest.param("hang_after_accept_next", True, marks=pytest.mark.thorough),
        pytest.param("html_200_next", False, marks=pytest.mark.thorough),
    ],
)
def test_a_broken_exchange_is_tried_again_and_ends_in_one_email(
    fleet: Fleet, waiting: Delivery, fault: str, accepted: bool
) -> None:
    fleet.provider.fail(**{fault: 1})
    fleet.start_worker()
    delivery = settled(waiting.pk)
    assert event_types(delivery) == [T.REQUESTED, T.ATTEMPT_FAILED, T.SENT]
    assert delivery.events.get(type=T.SENT).details["replayed"] is accepted
    [message] = fleet.provider.messages()
    assert message["idempotency_key"] == waiting.idempotency_key


def test_connections_terminated_between_send_and_settle_cost_nothing(
    fleet: Fleet, waiting: Delivery
) -> None:
    fleet.provider.fail(delay_ms=1000)
    worker = fleet.start_worker()
    fleet.until(lambda: fleet.provider.stats()["in_flight"], "the message is under way")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    delivery = settled(waiting.pk)
    assert event_types(delivery) == [T.REQUESTED, T.SENT]
    assert len(fleet.provider.messages()) == 1
    assert "not listening" in worker.output()
    assert worker.terminate() == 0


@pytest.mark.thorough
def test_a_worker_that_stood_still_past_its_lease_cannot_settle(
    fleet: Fleet, waiting: Delivery
) -> None:
    fleet.provider.fail(delay_ms=1000)
    short = {"DELIVERY_LEASE_SECONDS": "3", "DELIVERY_SEND_TIMEOUT_SECONDS": "2"}
    frozen = fleet.start_worker(name="frozen", **short)
    fleet.until(lambda: fleet.provider.stats()["in_flight"], "the message is under way")
    os.killpg(frozen.pid, signal.SIGSTOP)
    fleet.start_worker(name="relief")
    delivery = settled(waiting.pk)
    os.killpg(frozen.pid, signal.SIGCONT)
    fleet.until(lambda: "lease lost" in frozen.output(), "the frozen worker learns of it")
    assert frozen.terminate() == 0
    delivery.refresh_from_db()
    assert event_types(delivery) == [T.REQUESTED, T.LEASE_LOST, T.SENT]
    assert delivery.events.get(type=T.SENT).worker == "relief"
    assert len(fleet.provider.messages()) == 1


@pytest.fixture
def short_of_patience(transactional_db: None) -> Iterator[None]:
    """End idle transactions after a second, where `migrate` lets them stand for 30."""
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    bound = f"ALTER DATABASE {name} SET idle_in_transaction_session_timeout"
    with connection.cursor() as cursor:
        cursor.execute(f"{bound} = '1s'")
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"{bound} = '30s'")


@pytest.mark.usefixtures("short_of_patience")
def test_a_worker_frozen_in_mid_transaction_holds_up_nobody_for_long(
    fleet: Fleet, waiting: Delivery, mainland: Organization
) -> None:
    """It has the lane's lock, for which every other worker waits; no lease ends that."""
    frozen = fleet.start_script("frozen", DYING_WORKER, "freeze-in-settle", **SHORT_LEASE)
    fleet.until(lambda: is_suspended(frozen), "the worker is suspended")
    other = factories.make_delivery(factories.make_invoice(mainland), now=None)
    fleet.start_worker()
    assert settled(other.pk).status == "sent"
    assert settled(waiting.pk).status == "sent"
    os.killpg(frozen.pid, signal.SIGCONT)
    fleet.until(lambda: "dispatcher trouble" in frozen.output(), "the frozen worker learns of it")
    keys = sorted(each["idempotency_key"] for each in fleet.provider.messages())
    assert keys == sorted([waiting.idempotency_key, other.idempotency_key])


def is_suspended(process: Process) -> bool:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
