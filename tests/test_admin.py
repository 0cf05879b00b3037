"""The admin: the ledger to look at, and a replay that goes through the ledger."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries import ledger
from deliveries.models import Delivery, DeliveryEvent
from deliveries.outcomes import Dead
from invoices.models import Invoice, Organization
from tests import factories

LIST = "/admin/deliveries/delivery/"


@pytest.fixture
def admin(client: Client, django_user_model: type[User]) -> Client:
    client.force_login(django_user_model.objects.create_superuser("admin", password="a password"))
    return client


@pytest.fixture
def dead(delivery: Delivery) -> Delivery:
    ledger.configure("email", limit=5, rate_per_second=None)
    [claim] = ledger.claim(
        "email", worker="w", capacity=1, lease=timedelta(minutes=1), max_claims=3
    )
    refused = Dead(
        reason=Delivery.DeadReason.REJECTED, error="no such address", may_have_accepted=False
    )
    ledger.settle(claim, refused, worker="w")
    delivery.refresh_from_db()
    return delivery


def replay(admin: Client, *deliveries: Delivery) -> str:
    answer = admin.post(
        LIST,
        {"action": "replay", "_selected_action": [delivery.pk for delivery in deliveries]},
        follow=True,
    )
    return answer.content.decode()


def test_a_delivery_shows_its_timeline(admin: Client, dead: Delivery) -> None:
    page = admin.get(f"{LIST}{dead.pk}/change/").content.decode()
    assert "Sending was requested." in page
    assert "no such address" in page


def test_dead_deliveries_are_a_filter_away(admin: Client, dead: Delivery) -> None:
    other = factories.make_delivery(factories.make_invoice(dead.organization))
    page = admin.get(LIST, {"status__exact": "dead"}).content.decode()
    assert dead.reference in page
    assert other.reference not in page


def test_a_replay_puts_a_dead_delivery_back_with_the_actor_named(
    admin: Client, dead: Delivery
) -> None:
    assert "1 replayed." in replay(admin, dead)
    dead.refresh_from_db()
    assert dead.status == Delivery.Status.QUEUED
    event = dead.events.get(type=DeliveryEvent.Type.REPLAYED)
    assert event.actor is not None
    assert event.actor.username == "admin"
    assert Invoice.objects.get(pk=dead.invoice_id).status == Invoice.Status.SENDING


def test_a_second_replay_is_harmless(admin: Client, dead: Delivery) -> None:
    replay(admin, dead)
    assert "1 skipped: already waiting to be sent." in replay(admin, dead)
    assert dead.events.filter(type=DeliveryEvent.Type.REPLAYED).count() == 1


@pytest.mark.parametrize("address", ["add/", "{pk}/delete/"])
def test_nobody_adds_or_deletes_a_delivery(admin: Client, dead: Delivery, address: str) -> None:
    assert admin.get(LIST + address.format(pk=dead.pk)).status_code == 403


def test_nobody_edits_a_delivery(admin: Client, dead: Delivery) -> None:
    assert admin.post(f"{LIST}{dead.pk}/change/", {"status": "sent"}).status_code == 403
    dead.refresh_from_db()
    assert dead.status == Delivery.Status.DEAD


def test_the_list_asks_a_fixed_number_of_queries(
    admin: Client, dead: Delivery, django_assert_max_num_queries: Callable[..., object]
) -> None:
    for _ in range(20):
        factories.make_delivery(factories.make_invoice(dead.organization))
    with django_assert_max_num_queries(8):  # type: ignore[attr-defined]
        assert admin.get(LIST).status_code == 200


def test_staff_without_the_permission_cannot_replay(
    client: Client, dead: Delivery, django_user_model: type[User]
) -> None:
    staff = django_user_model.objects.create_user("staff", password="a password", is_staff=True)
    client.force_login(staff)
    client.post(LIST, {"action": "replay", "_selected_action": [dead.pk]})
    dead.refresh_from_db()
    assert dead.status == Delivery.Status.DEAD


def test_members_of_an_organization_do_not_reach_the_admin(client: Client, owner: User) -> None:
    client.force_login(owner)
    assert client.get(LIST).status_code == 302


def lines_form(**line: object) -> dict[str, object]:
    values = {"position": 1, "description": "Bread", "quantity": "2", "unit_price_minor": 150_000}
    return {
        "currency": "NGN",
        "issued_on": "2026-03-02",
        "due_on": "2026-03-16",
        "lines-TOTAL_FORMS": "1",
        "lines-INITIAL_FORMS": "0",
        **{
            f"lines-0-{name}": value
            for name, value in (values | {"tax_rate": "7.5"} | line).items()
        },
    }


def test_an_invoice_without_an_amount_is_corrected_by_its_lines(
    admin: Client, organization: Organization
) -> None:
    invoice = factories.make_invoice(organization, amount_minor=None)
    page = f"/admin/invoices/invoice/{invoice.pk}/change/"
    assert admin.post(page, lines_form()).status_code == 302
    invoice.refresh_from_db()
    assert invoice.amount_minor == 322_500


def test_an_invoice_that_left_draft_does_not_change(
    admin: Client, organization: Organization
) -> None:
    invoice = factories.make_invoice(organization, status="sent")
    page = f"/admin/invoices/invoice/{invoice.pk}/change/"
    assert admin.post(page, lines_form()).status_code == 403
