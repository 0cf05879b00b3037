"""API tokens as their owners see them: shown once, revoked at once, nobody else's business."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from invoices import tokens
from invoices.models import ApiToken, Invoice, Organization
from tests import factories
from tests.reading import text


@pytest.fixture
def as_viewer(client: Client, viewer: User) -> Client:
    client.force_login(viewer)
    return client


def make(client: Client, name: str = "ERP") -> str:
    found = re.search(
        r'value="(ih_[\w-]{43})"', text(client.post("/settings/tokens", {"name": name}))
    )
    assert found is not None
    return found[1]


def test_a_token_is_shown_once_and_works(as_viewer: Client, invoice: Invoice) -> None:
    delivery = factories.make_delivery(invoice)
    token = make(as_viewer)
    page = text(as_viewer.get("/settings/tokens"))
    assert "ERP" in page
    assert token not in page
    bearer = {"Authorization": f"Bearer {token}"}
    assert Client().get(f"/deliveries/{delivery.pk}", headers=bearer).status_code == 200
    # A viewer's token only looks.
    assert Client().post(f"/invoices/{invoice.pk}/send", headers=bearer).status_code == 403


def test_a_form_that_is_posted_twice_makes_one(as_viewer: Client) -> None:
    make(as_viewer)
    page = text(as_viewer.post("/settings/tokens", {"name": "erp"}))
    assert "You have a token called “erp” already" in page
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\nb", "a\x1bb"])
def test_a_token_needs_a_sensible_name(as_viewer: Client, name: str) -> None:
    assert 'class="errorlist"' in text(as_viewer.post("/settings/tokens", {"name": name}))
    assert not ApiToken.objects.exists()


def test_nobody_has_tokens_without_end(as_viewer: Client, viewer: User) -> None:
    for number in range(tokens.MOST):
        tokens.issue(viewer.memberships.get(), name=f"T{number}")
    assert "too many tokens" in text(as_viewer.post("/settings/tokens", {"name": "one more"}))


def test_a_revoked_token_opens_nothing(as_viewer: Client, invoice: Invoice) -> None:
    bearer = {"Authorization": f"Bearer {make(as_viewer)}"}
    address = f"/settings/tokens/{ApiToken.objects.get().pk}/revoke"
    for _ in range(2):
        text(as_viewer.post(address, follow=True))
    assert Client().get("/deliveries/1", headers=bearer).status_code == 401
    assert make(as_viewer, "ERP")


def test_a_token_is_the_business_of_its_member_only(
    client: Client, owner: User, outsider: User, viewer: User, organization: Organization
) -> None:
    tokens.issue(viewer.memberships.get(), name="Of the viewer")
    address = f"/settings/tokens/{ApiToken.objects.get().pk}/revoke"
    for user in (owner, outsider):
        client.force_login(user)
        assert "Of the viewer" not in text(client.get("/settings/tokens"))
        assert client.post(address).status_code == 404
    assert ApiToken.objects.get().revoked_at is None


def test_a_token_makes_no_tokens(client: Client, owner: User) -> None:
    token = tokens.issue(owner.memberships.get(), name="ERP")
    bearer = {"Authorization": f"Bearer {token}"}
    assert client.get("/settings/tokens", headers=bearer).status_code == 403
    assert client.post("/settings/tokens", {"name": "x"}, headers=bearer).status_code == 403


def test_each_address_takes_its_methods_only(as_viewer: Client) -> None:
    assert as_viewer.delete("/settings/tokens").status_code == 405
    assert as_viewer.get("/settings/tokens/1/revoke").status_code == 405
