"""Pausing and resuming the reminders of an invoice or of a customer."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from invoices.models import Invoice, Organization
from tests.invoices.reminders.pages.reading import FRIDAY, of_page, said
from tests.invoices.reminders.runs import MONDAY, make_overdue, run
from tests.reading import text

pytestmark = pytest.mark.thorough

CHANGES = (
    "reminders/pause",
    "reminders/resume",
    "customer/reminders/pause",
    "customer/reminders/resume",
)


@pytest.mark.parametrize("who", ["owner", "member"])
def test_an_invoices_reminders_are_paused_and_resumed(
    client: Client, owner: User, member: User, overdue: Invoice, who: str
) -> None:
    client.force_login(User.objects.get(username=who))
    assert "Pause reminders" in of_page(client, overdue)
    answer = client.post(f"/invoices/{overdue.pk}/reminders/pause")
    assert answer.headers["Location"] == f"/invoices/{overdue.pk}#reminders"
    assert "Reminders of INV-0001 are paused." in said(client.get(f"/invoices/{overdue.pk}"))
    assert "Resume reminders" in of_page(client, overdue)
    assert run(FRIDAY) == 0
    client.post(f"/invoices/{overdue.pk}/reminders/resume")
    assert "Pause reminders" in of_page(client, overdue)
    assert run(FRIDAY) == 1


def test_a_customers_reminders_are_paused_for_all_their_invoices(
    as_owner: Client, organization: Organization, overdue: Invoice
) -> None:
    other = make_overdue(organization)
    Invoice.objects.filter(pk=other.pk).update(customer=overdue.customer)
    as_owner.post(f"/invoices/{overdue.pk}/customer/reminders/pause")
    assert "Paused for this customer." in of_page(as_owner, other)
    assert "Resume for the customer" in of_page(as_owner, other)
    assert run(FRIDAY) == 0
    as_owner.post(f"/invoices/{other.pk}/customer/reminders/resume")
    assert run(FRIDAY) == 2


def test_pausing_twice_is_as_good_as_once(as_owner: Client, overdue: Invoice) -> None:
    for _ in range(2):
        answer = as_owner.post(f"/invoices/{overdue.pk}/reminders/pause")
        assert answer.status_code == 302
    overdue.refresh_from_db()
    assert overdue.reminders_paused


@pytest.mark.parametrize("change", CHANGES)
def test_a_viewer_looks_but_changes_nothing(
    client: Client, viewer: User, overdue: Invoice, change: str
) -> None:
    client.force_login(viewer)
    assert client.post(f"/invoices/{overdue.pk}/{change}").status_code == 403
    assert "/reminders/" not in text(client.get(f"/invoices/{overdue.pk}"))


@pytest.mark.parametrize("change", CHANGES)
def test_others_cannot_pause(client: Client, outsider: User, overdue: Invoice, change: str) -> None:
    address = f"/invoices/{overdue.pk}/{change}"
    assert client.post(address).headers["Location"].startswith("/login")
    client.force_login(outsider)
    assert client.post(address).status_code == 404
    overdue.refresh_from_db()
    assert not overdue.reminders_paused
    assert not overdue.customer.reminders_paused


@pytest.mark.parametrize("change", CHANGES)
def test_a_pause_is_only_posted(as_owner: Client, overdue: Invoice, change: str) -> None:
    assert as_owner.get(f"/invoices/{overdue.pk}/{change}").status_code == 405


def test_a_paid_invoice_has_nothing_to_pause(as_owner: Client, overdue: Invoice) -> None:
    run(MONDAY)
    Invoice.objects.update(status="paid")
    assert "Pause" not in of_page(as_owner, overdue)
