"""Bearer tokens: a program acts as one member, and as nobody else."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from deliveries.models import Delivery
from invoices import tokens
from invoices.models import ApiToken, Invoice, Member
from tests import factories


@pytest.fixture
def api() -> Client:
    return Client(enforce_csrf_checks=True)


def bearer(member: Member | None) -> dict[str, str]:
    assert member is not None
    return {"Authorization": f"Bearer {tokens.issue(member, name='ERP')}"}


def test_a_token_sends_an_invoice_without_a_csrf_token(
    api: Client, owner: User, invoice: Invoice
) -> None:
    answer = api.post(f"/invoices/{invoice.pk}/send", headers=bearer(owner.memberships.get()))
    assert answer.status_code == 202
    delivery = Delivery.objects.get(pk=answer.json()["deliveryId"])
    assert delivery.requested_by == owner


def test_a_token_of_another_organization_finds_nothing(
    api: Client, outsider: User, invoice: Invoice
) -> None:
    answer = api.post(f"/invoices/{invoice.pk}/send", headers=bearer(outsider.memberships.get()))
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_a_viewers_token_may_look_but_not_send(api: Client, viewer: User, invoice: Invoice) -> None:
    headers = bearer(viewer.memberships.get())
    delivery = factories.make_delivery(invoice)
    assert api.post(f"/invoices/{invoice.pk}/send", headers=headers).status_code == 403
    assert api.get(f"/deliveries/{delivery.pk}", headers=headers).status_code == 200


def test_a_token_counts_for_its_own_organization_only(
    api: Client, owner: User, outsider: User, invoice: Invoice
) -> None:
    elsewhere = outsider.memberships.get().organization
    second = Member.objects.create(user=owner, organization=elsewhere, role="owner")
    assert api.get(f"/invoices/{invoice.pk}", headers=bearer(second)).status_code == 404


@pytest.mark.parametrize("token", ["", "nonsense", "ih_" + "0" * 43])
def test_a_wrong_token_is_a_401_even_with_a_session(
    client: Client, owner: User, invoice: Invoice, token: str
) -> None:
    client.force_login(owner)
    answer = client.post(
        f"/invoices/{invoice.pk}/send", headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert not Delivery.objects.exists()


def test_a_revoked_token_and_an_inactive_user_are_refused(
    api: Client, owner: User, invoice: Invoice
) -> None:
    headers = bearer(owner.memberships.get())
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert api.get(f"/invoices/{invoice.pk}", headers=headers).status_code == 401
    User.objects.filter(pk=owner.pk).update(is_active=True)
    ApiToken.objects.update(revoked_at=factories.NOW)
    assert api.get(f"/invoices/{invoice.pk}", headers=headers).status_code == 401


def test_the_token_itself_is_not_stored(owner: User) -> None:
    token = tokens.issue(owner.memberships.get(), name="ERP")
    assert token not in str(list(ApiToken.objects.values_list()))


def test_the_command_prints_a_token_that_works(api: Client, owner: User, invoice: Invoice) -> None:
    out = StringIO()
    call_command(
        "create_api_token", "owner", organization="mainland-supplies", name="ERP", stdout=out
    )
    headers = {"Authorization": f"Bearer {out.getvalue().strip()}"}
    assert api.post(f"/invoices/{invoice.pk}/send", headers=headers).status_code == 202


def test_the_command_refuses_a_stranger(owner: User) -> None:
    with pytest.raises(CommandError, match="nobody is not a member"):
        call_command("create_api_token", "nobody", organization="mainland-supplies", name="ERP")
