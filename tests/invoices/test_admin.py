"""Support corrects in the admin what cannot be sent, and nothing else; the timeline tells of it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries.models import Delivery, DeliveryEvent
from invoices.models import Organization
from tests import factories


@pytest.fixture
def admin(client: Client, django_user_model: type[User]) -> Client:
    client.force_login(django_user_model.objects.create_superuser("admin", password="a password"))
    return client


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


def test_a_corrected_customer_is_told_of_in_the_timelines_that_wait(
    admin: Client, delivery: Delivery
) -> None:
    customer = delivery.invoice.customer
    values = {"organization": customer.organization_id, "name": customer.name, "language": "en"}
    page = f"/admin/invoices/customer/{customer.pk}/change/"
    assert admin.post(page, values | {"email": "new@mamaput.example"}).status_code == 302
    event = delivery.events.get(type=DeliveryEvent.Type.CORRECTED)
    assert event.actor is not None
    assert event.actor.username == "admin"
    assert "e-mail address" in event.sentence
    assert "mamaput" not in event.sentence


def test_a_customer_saved_unchanged_tells_nothing(admin: Client, delivery: Delivery) -> None:
    customer = delivery.invoice.customer
    values = {
        "organization": customer.organization_id,
        "name": customer.name,
        "email": customer.email,
        "address": customer.address,
    }
    page = f"/admin/invoices/customer/{customer.pk}/change/"
    assert admin.post(page, values).status_code == 302
    assert not delivery.events.filter(type=DeliveryEvent.Type.CORRECTED).exists()
