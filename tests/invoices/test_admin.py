"""Support corrects in the admin what cannot be sent, and nothing else; the timeline tells of it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from deliveries.models import Delivery, DeliveryEvent
from invoices.models import Organization
from invoices.sending import send
from tests import factories


@pytest.fixture
def admin(client: Client, django_user_model: type[User]) -> Client:
    client.force_login(django_user_model.objects.create_superuser("admin", password="a password"))
    return client


def lines_form(**line: object) -> dict[str, object]:
    values = {"description": "Bread", "quantity": "2", "unit_price": "1500.00", "tax_rate": "7.5"}
    return {
        "issued_on": "2026-03-02",
        "due_on": "2026-03-16",
        "lines-TOTAL_FORMS": "1",
        "lines-INITIAL_FORMS": "0",
        **{f"lines-0-{name}": value for name, value in (values | line).items()},
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
    values = {"name": customer.name, "address": customer.address, "language": customer.language}
    page = f"/admin/invoices/customer/{customer.pk}/change/"
    assert admin.post(page, values | {"email": "new@mamaput.example"}).status_code == 302
    event = delivery.events.get(type=DeliveryEvent.Type.CORRECTED)
    assert event.actor is not None
    assert event.actor.username == "admin"
    assert event.sentence == "The customer's e-mail address was corrected: now new@mamaput.example."


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


@pytest.mark.parametrize(
    "line",
    [
        {"unit_price": "1500.005"},
        {"unit_price": "-1500"},
        {"unit_price": "9" * 15},
        {"quantity": "9999999999", "unit_price": "9" * 12},
        {"quantity": "0"},
        {"unit_price": "1e400"},
    ],
)
def test_lines_that_make_no_sense_are_refused(
    admin: Client, organization: Organization, line: dict[str, object]
) -> None:
    invoice = factories.make_invoice(organization, amount_minor=None)
    page = f"/admin/invoices/invoice/{invoice.pk}/change/"
    answer = admin.post(page, lines_form(**line))
    assert answer.status_code == 200
    assert "Please correct the error" in answer.content.decode()
    assert not invoice.lines.exists()


def test_a_save_leaves_what_others_wrote_meanwhile(
    admin: Client, organization: Organization, owner: User
) -> None:
    """Finance clicks Send while support has the invoice's page open."""
    invoice = factories.make_invoice(organization)
    page = f"/admin/invoices/invoice/{invoice.pk}/change/"
    line = invoice.lines.get()
    form = lines_form(id=line.pk, invoice=invoice.pk) | {"lines-INITIAL_FORMS": "1", "notes": "x"}
    send(invoice.pk, organization=organization, user_id=owner.pk)
    assert admin.post(page, form).status_code == 403
    invoice.refresh_from_db()
    assert (invoice.status, invoice.notes) == ("sending", "")


def test_an_address_that_cannot_work_is_refused(admin: Client, delivery: Delivery) -> None:
    customer = delivery.invoice.customer
    page = f"/admin/invoices/customer/{customer.pk}/change/"
    answer = admin.post(page, {"name": customer.name, "email": "orders@@palmwine"})
    assert "Enter a valid email address" in answer.content.decode()


def test_a_customer_stays_with_its_organization(admin: Client, delivery: Delivery) -> None:
    customer = delivery.invoice.customer
    other = factories.make_organization("lagoon", name="Lagoon Trading")
    page = f"/admin/invoices/customer/{customer.pk}/change/"
    form = {"organization": other.pk, "name": "Mama Put", "email": customer.email}
    admin.post(page, form | {"removed_at_0": "2026-03-02", "removed_at_1": "10:00"})
    customer.refresh_from_db()
    assert (customer.organization_id, customer.removed_at) == (delivery.organization_id, None)
    assert customer.name == "Mama Put"


def test_a_correction_leads_on_to_the_dead_letter(admin: Client, delivery: Delivery) -> None:
    Delivery.objects.update(
        status="dead", dead_reason="rejected", last_error="x", finished_at=timezone.now()
    )
    customer = delivery.invoice.customer
    page = f"/admin/invoices/customer/{customer.pk}/change/"
    answer = admin.post(page, {"name": customer.name, "email": "n@mamaput.example"}, follow=True)
    assert f"/admin/deliveries/delivery/{delivery.pk}/change/" in answer.content.decode()


@pytest.mark.parametrize("list_", ["invoice", "customer"])
def test_an_address_cannot_filter_by_any_column(admin: Client, db: None, list_: str) -> None:
    assert admin.get(f"/admin/invoices/{list_}/", {"notes__regex": "("}).status_code == 400


@pytest.mark.parametrize("address", ["customer", "member"])
@pytest.mark.parametrize("nonsense", ["x", "-1", "٣", "9" * 30])
def test_what_is_no_id_is_told_beside_its_field(admin: Client, address: str, nonsense: str) -> None:
    answer = admin.post(f"/admin/invoices/{address}/add/", {"organization": nonsense})
    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()
