"""Logging in and out, and switching between organizations."""

from django.contrib.auth.models import User
from django.test import Client

from invoices.models import Invoice, Member, Organization
from tests import factories
from tests.reading import text


def test_logging_in_leads_to_the_invoices_and_out_again_to_the_login(
    client: Client, owner: User
) -> None:
    assert client.get("/", follow=True).redirect_chain[-1][0] == "/login?next=/invoices"
    answer = client.post("/login", {"username": "owner", "password": "a long password 1"})
    assert answer.headers["Location"] == "/"
    assert client.get("/").headers["Location"] == "/invoices"
    assert client.get("/logout").status_code == 405
    assert client.post("/logout").headers["Location"] == "/login"


def test_logging_in_after_a_click_leads_to_the_invoice_not_to_the_buttons_address(
    client: Client, owner: User, invoice: Invoice
) -> None:
    answer = client.post(
        "/login",
        {
            "username": "owner",
            "password": "a long password 1",
            "next": f"/invoices/{invoice.pk}/send",
        },
    )
    assert answer.headers["Location"] == f"/invoices/{invoice.pk}"


def test_a_wrong_password_is_said(client: Client, owner: User) -> None:
    page = text(client.post("/login", {"username": "owner", "password": "wrong"}))
    assert "Please enter a correct username and password" in page


def test_support_without_an_organization_is_led_to_the_admin(client: Client, db: None) -> None:
    User.objects.create_user("support", password="a long password 1", is_staff=True)
    form = {"username": "support", "password": "a long password 1", "next": "/invoices"}
    answer = client.post("/login", form, follow=True)
    assert [address for address, _ in answer.redirect_chain] == ["/", "/admin/"]


def test_only_staff_sees_the_admins_address(as_owner: Client, owner: User) -> None:
    assert "/admin/" not in text(as_owner.get("/invoices"))
    User.objects.update(is_staff=True)
    assert "/admin/" in text(as_owner.get("/invoices"))


def test_a_user_of_two_organizations_switches_between_them(as_owner: Client, owner: User) -> None:
    assert "/organization" not in text(as_owner.get("/invoices"))
    other = factories.make_organization("lagoon", name="Lagoon Trading")
    Member.objects.create(organization=other, user=owner)
    factories.make_invoice(other, number="LAG-1")
    assert "Lagoon Trading" in text(as_owner.get("/invoices"))
    assert as_owner.get("/organization").status_code == 405
    assert as_owner.post("/organization", {"organization": "lagoon"}).status_code == 302
    assert "LAG-1" in text(as_owner.get("/invoices"))


def test_nobody_switches_to_an_organization_of_others(
    as_owner: Client, outsider: User, organization: Organization
) -> None:
    assert as_owner.post("/organization", {"organization": "nordlicht"}).status_code == 404
    assert organization.name in text(as_owner.get("/invoices"))
