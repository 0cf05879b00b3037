"""Workers killed with SIGKILL at every point where it could hurt."""

import pytest

from deliveries.models import Delivery, DeliveryEvent
from invoicehub.rehearsal.fleet import Fleet
from invoices.models import Invoice, Organization
from tests import factories
from tests.process.conftest import Dies, event_types, settled

T = DeliveryEvent.Type


@pytest.fixture
def waiting(mainland: Organization) -> Delivery:
    return factories.make_delivery(factories.make_invoice(mainland), now=None)


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("after-claim", marks=pytest.mark.thorough),
        pytest.param("after-store", marks=pytest.mark.thorough),
        "after-accept",
        pytest.param("in-settle", marks=pytest.mark.thorough),
    ],
)
def test_a_worker_killed_at_any_point_costs_a_lease_and_no_email(
    fleet: Fleet, waiting: Delivery, worker_that_dies: Dies, point: str
) -> None:
    worker_that_dies(point)
    lost = Delivery.objects.get(pk=waiting.pk)
    assert (lost.status, lost.claims, lost.locked_by) == ("running", 1, f"dies-{point}")
    fleet.provider.fail(delay_ms=500)
    fleet.start_worker()
    fleet.until(
        lambda: Delivery.objects.filter(pk=waiting.pk, status="running", claims=2).exists(),
        "another worker claims it, the second claim with no outcome between",
    )
    delivery = settled(waiting.pk)
    assert delivery.status == "sent"
    assert event_types(delivery) == [T.REQUESTED, T.LEASE_LOST, T.SENT]
    replayed = delivery.events.get(type=T.SENT).details["replayed"]
    assert replayed is (point in {"after-accept", "in-settle"})
    [message] = fleet.provider.messages()
    assert message["idempotency_key"] == waiting.idempotency_key
    assert Invoice.objects.get(pk=waiting.invoice_id).status == Invoice.Status.SENT


def test_the_fourth_worker_finds_a_crash_loop_dead(
    fleet: Fleet, waiting: Delivery, worker_that_dies: Dies
) -> None:
    for _ in range(3):
        worker_that_dies("after-claim")
    fleet.start_worker()
    delivery = settled(waiting.pk)
    assert (delivery.status, delivery.dead_reason) == ("dead", "crashed")
    assert delivery.last_error == "crashed 3 workers"
    assert fleet.provider.messages() == []
    assert Invoice.objects.get(pk=waiting.invoice_id).status == Invoice.Status.FAILED


@pytest.mark.thorough
def test_a_connection_dropped_after_acceptance_is_one_email(
    fleet: Fleet, waiting: Delivery
) -> None:
    fleet.provider.fail(drop_after_accept_next=1)
    fleet.start_worker()
    delivery = settled(waiting.pk)
    assert event_types(delivery) == [T.REQUESTED, T.ATTEMPT_FAILED, T.SENT]
    assert delivery.events.get(type=T.SENT).details["replayed"] is True
    assert len(fleet.provider.messages()) == 1
