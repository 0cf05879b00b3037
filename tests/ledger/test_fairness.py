"""Start-time fair queuing: flows share a lane by weight, whoever asks more or first."""

from collections.abc import Iterator

import pytest

from deliveries import ledger
from deliveries.ledger import fairness
from deliveries.models import Delivery, Flow, Lane
from invoices.models import Organization
from tests import factories
from tests.ledger.note import Note
from tests.ledger.steps import SENT, Status, at, claim, fresh, make_deliveries, settle


@pytest.fixture
def other(db: None) -> Organization:
    return factories.make_organization("nordlicht", name="Nordlicht Kaffee GmbH")


def flood(organization: Organization, note: Note, count: int) -> None:
    """Request very many at once: the tags from the ledger, the rows in one statement."""
    first = note.request_many(organization, 1)[0]
    tags = fairness.take_tags(
        lane="email", organization_id=organization.pk, kind="note", weight=1.0, count=count - 1
    )
    Delivery.objects.bulk_create(
        Delivery(
            organization=organization,
            invoice_id=first.invoice_id,
            kind="note",
            lane="email",
            reference=first.reference,
            dedupe_key=f"flood:{number}",
            idempotency_key=f"flood-{number}",
            fair_tag=tag,
            correlation_id="req-41",
        )
        for number, tag in enumerate(tags)
    )


def served() -> Iterator[Delivery]:
    """Give one delivery after the other as a worker sends them."""
    while claims := claim(capacity=1):
        settle(claims[0], SENT)
        yield Delivery.objects.get(pk=claims[0].delivery_id)


def serve(count: int) -> list[Delivery]:
    return [delivery for delivery, _ in zip(served(), range(count), strict=False)]


def test_tags_are_given_at_request_time(note: Note, organization: Organization) -> None:
    invoices = make_deliveries(organization, 3)
    notes = note.request_many(organization, 2)
    assert [delivery.fair_tag for delivery in invoices] == [0.25, 0.5, 0.75]
    assert [delivery.fair_tag for delivery in notes] == [1.0, 2.0]
    serve(4)
    assert fresh(notes[1]).fair_tag == 2.0


def test_many_tags_at_once_are_the_same_as_one_after_the_other(
    organization: Organization, other: Organization
) -> None:
    ledger.configure("email", limit=5, rate_per_second=None)
    Lane.objects.update(virtual_time=7)

    def take(who: Organization, count: int) -> list[float]:
        return fairness.take_tags(
            lane="email", organization_id=who.pk, kind="note", weight=2.0, count=count
        )

    assert take(organization, 3) == [7.5, 8.0, 8.5]
    assert [tag for _ in range(3) for tag in take(other, 1)] == [7.5, 8.0, 8.5]
    assert set(Flow.objects.values_list("last_tag", flat=True)) == {8.5}


def test_hundreds_of_one_organization_do_not_delay_anothers_one(
    note: Note, organization: Organization, other: Organization
) -> None:
    flood(organization, note, 300)
    serve(100)
    [late] = note.request_many(other, 1)
    assert late in serve(3)


@pytest.mark.thorough
def test_hundreds_of_reminders_do_not_delay_the_same_organizations_invoice(
    note: Note, organization: Organization
) -> None:
    flood(organization, note, 300)
    serve(20)
    [invoice] = make_deliveries(organization, 1)
    assert serve(1) == [invoice]


def test_flows_are_served_by_weight(note: Note, organization: Organization) -> None:
    note.request_many(organization, 10)
    make_deliveries(organization, 20)
    kinds = [delivery.kind for delivery in serve(20)]
    assert (kinds.count("invoice"), kinds.count("note")) == (16, 4)


def test_equal_flows_take_turns_whoever_asked_first(
    organization: Organization, other: Organization
) -> None:
    make_deliveries(organization, 6)
    make_deliveries(other, 3)
    turns = [delivery.organization for delivery in serve(6)]
    assert turns == [organization, other] * 3


def test_nobody_starves_under_a_stream_of_weightier_requests(
    note: Note, organization: Organization, other: Organization
) -> None:
    make_deliveries(organization, 4)
    [light] = note.request_many(other, 1)
    for _ in range(5):
        make_deliveries(organization, 1)
        if light in serve(1):
            break
    assert fresh(light).status == Status.SENT


@pytest.mark.thorough
def test_a_flow_that_was_idle_does_not_bank_credit(
    organization: Organization, other: Organization
) -> None:
    make_deliveries(other, 1)
    make_deliveries(organization, 9)
    serve(10)
    make_deliveries(organization, 4)
    make_deliveries(other, 4)
    turns = [delivery.organization for delivery in serve(8)]
    assert turns == [organization, other] * 4


@pytest.mark.thorough
def test_a_flow_is_not_punished_for_having_used_an_idle_lane(
    organization: Organization, other: Organization
) -> None:
    make_deliveries(organization, 9)
    serve(9)
    make_deliveries(other, 4)
    make_deliveries(organization, 4)
    assert {delivery.organization for delivery in serve(2)} == {organization, other}


def test_within_a_flow_the_first_to_ask_is_the_first_served(organization: Organization) -> None:
    deliveries = make_deliveries(organization, 5)
    assert serve(5) == deliveries


def test_the_lanes_virtual_time_never_goes_back(organization: Organization) -> None:
    first, *_ = make_deliveries(organization, 3)
    [held] = claim(capacity=1)
    settle(claim(capacity=1)[0], SENT)
    ledger.release([held], why="stopping", worker="worker-1", now=at(1))
    assert claim(capacity=1)[0].delivery_id == first.pk
    assert Lane.objects.get().virtual_time == 0.5


def test_what_is_recovered_moves_the_virtual_time_no_further(organization: Organization) -> None:
    make_deliveries(organization, 1)
    claim("worker-1")
    claim("worker-2", now=at(60))
    assert Lane.objects.get().virtual_time == 0.25
