"""However often a day is fired, each reminder is recorded once."""

from collections import Counter

import pytest
from freezegun import freeze_time

from deliveries.models import Delivery
from invoices import reminders
from invoices.models import Invoice, Organization
from tests import factories
from tests.invoices.reminders.runs import MONDAY, command, make_overdue, run


def test_a_day_fired_forty_times_records_each_reminder_once(overdue: Invoice) -> None:
    assert [run() for _ in range(40)] == [1] + [0] * 39
    flow_tags = Delivery.objects.values_list("fair_tag", flat=True)
    assert list(flow_tags) == [1.0]


@pytest.mark.thorough
def test_fired_again_it_does_not_push_its_flow_into_the_future(
    organization: Organization, overdue: Invoice
) -> None:
    for _ in range(40):
        run()
    make_overdue(organization)
    run()
    assert sorted(Delivery.objects.values_list("fair_tag", flat=True)) == [1.0, 2.0]


def test_a_run_that_dies_in_the_middle_is_finished_by_the_next(
    organization: Organization,
) -> None:
    for _ in range(5):
        make_overdue(organization)
    pages = reminders.record(MONDAY, batch=2)
    next(pages)
    pages.close()
    assert Delivery.objects.count() == 2
    assert [progress.recorded for progress in reminders.record(MONDAY, batch=2)][-1] == 3
    assert Delivery.objects.count() == 5


def test_each_recorded_reminder_is_a_whole_delivery(overdue: Invoice) -> None:
    run()
    delivery = Delivery.objects.get()
    assert (delivery.kind, delivery.lane, delivery.status) == ("reminder", "email", "queued")
    assert delivery.dedupe_key == f"reminder:{overdue.pk}:2026-03-02"
    assert delivery.reference == overdue.number
    assert delivery.requested_by is None
    assert delivery.idempotency_key.startswith("delivery-")
    [event] = delivery.events.all()
    assert (event.type, event.correlation_id) == ("requested", delivery.correlation_id)


def test_a_dry_run_prints_who_would_get_one_and_records_nothing(overdue: Invoice) -> None:
    with freeze_time("2026-03-02 08:00"):
        said = command("--dry-run")
    assert overdue.number in said
    assert "1 invoices would get a reminder" in said
    assert not Delivery.objects.exists()


def test_a_dry_run_tells_those_who_have_theirs_from_the_others(overdue: Invoice) -> None:
    with freeze_time("2026-03-02 08:00"):
        command()
        late = make_overdue(overdue.organization)
        said = command("--dry-run")
    assert (late.number in said, overdue.number in said) == (True, False)
    assert "1 invoices would get a reminder for 2026-03-02; 1 have theirs already." in said


def test_tags_of_a_run_interleave_organizations(organization: Organization) -> None:
    other = factories.make_organization("nordlicht")
    for _ in range(3):
        make_overdue(organization)
    make_overdue(other)
    run()
    assert Counter(Delivery.objects.values_list("organization_id", "fair_tag")) == Counter(
        [(organization.pk, 1.0), (organization.pk, 2.0), (organization.pk, 3.0), (other.pk, 1.0)]
    )
