"""Who belongs to no organization is told what is missing."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from invoices.models import Organization
from tests import factories

pytestmark = pytest.mark.thorough

HTML = {"accept": "text/html"}


@pytest.fixture
def newcomer(db: None) -> User:
    return User.objects.create_user("newcomer", password="a long password 1")


@pytest.mark.parametrize("address", ["/", "/invoices", "/customers", "/settings"])
def test_a_person_without_organization_is_told_to_ask_for_an_invitation(
    client: Client, newcomer: User, address: str
) -> None:
    client.force_login(newcomer)
    answer = client.get(address, headers=HTML, follow=True)
    page = answer.content.decode()
    assert answer.status_code == 404
    assert "You belong to no organization yet" in page
    assert "newcomer" in page
    assert "/admin/" not in page


def test_a_superuser_is_led_to_where_organizations_are_made(client: Client, db: None) -> None:
    client.force_login(User.objects.create_superuser("root", password="a long password 1"))
    page = client.get("/invoices", headers=HTML).content.decode()
    for address in ("/admin/invoices/organization/add/", "/admin/invoices/member/add/"):
        assert f'href="{address}"' in page
        assert client.get(address).status_code == 200


def test_programs_and_other_peoples_objects_are_a_plain_404(
    client: Client, newcomer: User, organization: Organization
) -> None:
    client.force_login(newcomer)
    answer = client.get("/api/invoices")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    invoice = factories.make_invoice(organization)
    client.force_login(factories.make_member(factories.make_organization("other"), "other"))
    page = client.get(f"/invoices/{invoice.pk}", headers=HTML).content.decode()
    assert "You belong to no organization" not in page


def test_a_member_of_a_closed_organization_only_is_told_as_well(
    client: Client, owner: User, organization: Organization
) -> None:
    organization.closed_at = factories.NOW
    organization.save()
    client.force_login(owner)
    page = client.get("/invoices", headers=HTML).content.decode()
    assert "You belong to no organization yet" in page
