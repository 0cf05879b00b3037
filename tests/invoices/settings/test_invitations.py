"""Invitations: a link that is shown once, works once, for a week, and tells nothing else."""

import logging
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from invoicehub.logs import SecretsFilter
from invoices import inviting, members
from invoices.models import Invitation, Member, Organization
from tests import factories
from tests.reading import text

pytestmark = pytest.mark.thorough

PASSWORD = {"password": "correct horse battery", "again": "correct horse battery"}


@pytest.fixture
def stranger() -> Client:
    return Client()


@pytest.fixture
def link(owner: User) -> str:
    issued = inviting.invite("eve@example.com", "member", by=owner.memberships.get())
    return f"/invitations/{issued.token}"


def link_in(page: str) -> str:
    found = re.search(r'value="http://testserver(/invitations/[\w-]{43})"', page)
    assert found is not None
    return found[1]


# Inviting -------------------------------------------------------------------------------------


def test_the_link_is_shown_once_and_only_its_hash_is_kept(as_owner: Client) -> None:
    answer = as_owner.post("/settings/invitations", {"email": "Eve@Example.com", "role": "viewer"})
    link = link_in(text(answer))
    assert "InvoiceHub does not send this link" in text(answer)
    assert "no-store" in answer.headers["Cache-Control"]
    page = text(as_owner.get("/settings/members"))
    assert "eve@example.com" in page
    assert link not in page
    invitation = Invitation.objects.get()
    assert invitation.token_hash == inviting.hash_of(link.rsplit("/", 1)[1])
    assert timedelta(days=6) < invitation.expires_at - timezone.now() <= timedelta(days=7)


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"email": "", "role": "member"}, "This field is required."),
        ({"email": "jörg@firma.example", "role": "member"}, "The part before the @"),
        ({"email": "a@b.example, c@d.example", "role": "member"}, "one address only"),
        ({"email": "eve@example.com", "role": "king"}, "Select a valid choice."),
        ({"email": "eve@example.com"}, "This field is required."),
        ({"email": "x" * 150 + "@b.example", "role": "member"}, "at most 150 characters"),
        ({"email": "owner@people.example", "role": "member"}, "is a member already."),
        ({"email": "waiting@example.com", "role": "member"}, "is invited already"),
    ],
)
def test_who_cannot_be_invited_is_told(
    as_owner: Client, owner: User, form: dict[str, str], says: str
) -> None:
    inviting.invite("waiting@example.com", "viewer", by=owner.memberships.get())
    assert says in text(as_owner.post("/settings/invitations", form))
    assert Invitation.objects.count() == 1


def test_a_new_link_ends_the_old_one(as_owner: Client, link: str, stranger: Client) -> None:
    invitation = Invitation.objects.get()
    renewed = link_in(text(as_owner.post(f"/settings/invitations/{invitation.pk}/renew")))
    assert stranger.get(link).status_code == 404
    assert stranger.get(renewed).status_code == 302


def test_a_revoked_link_is_dead(as_owner: Client, link: str, stranger: Client) -> None:
    invitation = Invitation.objects.get()
    address = f"/settings/invitations/{invitation.pk}"
    text(as_owner.post(f"{address}/revoke", follow=True))
    text(stranger.get(link), 410)
    assert as_owner.post(f"{address}/revoke").status_code == 404
    assert as_owner.post(f"{address}/renew").status_code == 404


def test_only_owners_invite(
    client: Client, viewer: User, outsider: User, organization: Organization, link: str
) -> None:
    number = Invitation.objects.get().pk
    addresses = [f"/settings/invitations/{number}/{what}" for what in ("renew", "revoke")]
    form = {"email": "a@b.example", "role": "viewer"}
    for user in (viewer, factories.make_member(organization, "member")):
        client.force_login(user)
        for address in ("/settings/invitations", *addresses):
            assert client.post(address, form).status_code == 403
    client.force_login(outsider)
    for address in addresses:
        assert client.post(address).status_code == 404
    for address in ("/settings/invitations", *addresses):
        assert client.get(address).status_code == 405


# Accepting ------------------------------------------------------------------------------------


def test_somebody_new_makes_an_account_and_is_a_member(stranger: Client, link: str) -> None:
    page = text(stranger.get(link, follow=True))
    assert "Mainland Supplies Ltd" in page
    assert "eve@example.com" in page
    answer = stranger.post("/invitation", PASSWORD)
    assert answer.headers["Location"] == "/invoices"
    user = User.objects.get(username="eve@example.com")
    assert user.check_password(PASSWORD["password"])
    assert not user.is_staff
    assert user.memberships.get().role == "member"
    assert "Welcome to Mainland Supplies Ltd." in text(stranger.get("/invoices"))


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"password": "short", "again": "short"}, "too short"),
        ({"password": "eve@example.com", "again": "eve@example.com"}, "too similar"),
        ({"password": "correct horse battery", "again": "other"}, "not the same"),
        ({"password": "", "again": ""}, "This field is required."),
        ({"password": "x" * 513, "again": "x" * 513}, "at most 512 characters"),
    ],
)
def test_a_password_must_be_a_good_one(
    stranger: Client, link: str, form: dict[str, str], says: str
) -> None:
    stranger.get(link)
    assert says in text(stranger.post("/invitation", form))
    assert not User.objects.filter(username="eve@example.com").exists()


def test_a_logged_in_user_accepts_with_one_click_and_a_second_one_is_harmless(
    client: Client, outsider: User, organization: Organization, link: str
) -> None:
    client.force_login(outsider)
    assert "You are logged in as outsider." in text(client.get(link, follow=True))
    for _ in range(2):
        assert client.post("/invitation").headers["Location"] == "/invoices"
    assert Member.objects.filter(user=outsider, organization=organization).count() == 1
    assert "Mainland Supplies Ltd" in text(client.get("/settings"))


def test_who_has_an_account_logs_in_first(stranger: Client, link: str) -> None:
    User.objects.create_user("EVE@example.com", password=PASSWORD["password"])
    page = text(stranger.get(link, follow=True))
    assert 'href="/login?next=/invitation"' in page
    assert 'name="password"' not in page
    assert "There is an account" in text(stranger.post("/invitation", PASSWORD))
    login = {"username": "EVE@example.com", "password": PASSWORD["password"], "next": "/invitation"}
    assert "Accept the invitation" in text(stranger.post("/login", login, follow=True))
    assert stranger.post("/invitation").headers["Location"] == "/invoices"


def test_a_member_who_accepts_keeps_the_role(
    client: Client, owner: User, organization: Organization, link: str
) -> None:
    client.force_login(owner)
    client.get(link)
    client.post("/invitation")
    assert owner.memberships.get().role == "owner"
    assert Invitation.objects.get().accepted_by == owner


def test_a_used_link_is_of_no_use_to_somebody_else(
    client: Client, outsider: User, stranger: Client, link: str, organization: Organization
) -> None:
    stranger.get(link)
    client.force_login(outsider)
    client.get(link)
    client.post("/invitation")
    text(stranger.post("/invitation", PASSWORD), 410)
    text(stranger.get(link), 410)
    assert organization.members.count() == 2


def test_a_removed_member_does_not_come_back_by_the_old_link(
    client: Client, outsider: User, owner: User, organization: Organization, link: str
) -> None:
    client.force_login(outsider)
    client.get(link)
    client.post("/invitation")
    member = organization.members.get(user=outsider)
    members.remove(member.pk, by=owner.memberships.get())
    text(client.post("/invitation"), 410)


# What does not work ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"expires_at": factories.NOW},
        {"revoked_at": factories.NOW},
        {"accepted_at": factories.NOW},
        {"invited_by": None},
    ],
)
def test_a_link_that_is_over_is_gone_and_tells_nothing(
    stranger: Client, link: str, change: dict[str, object]
) -> None:
    Invitation.objects.update(**change)
    page = text(stranger.get(link), 410)
    for secret in ("Mainland", "eve@example.com", "owner"):
        assert secret not in page


@pytest.mark.parametrize("token", ["x", "0" * 43, "%00", "../", "x" * 5000, "é"])
def test_a_link_that_never_was_is_not_found(stranger: Client, link: str, token: str) -> None:
    assert stranger.get(f"/invitations/{token}").status_code in {400, 404}


def test_without_a_link_there_is_nothing_to_accept(stranger: Client, link: str) -> None:
    text(stranger.get("/invitation"), 404)
    text(stranger.post("/invitation", PASSWORD), 404)


def test_an_invitation_ends_when_its_giver_may_not_give_it(
    stranger: Client, organization: Organization, link: str
) -> None:
    Member.objects.update(role="viewer")
    text(stranger.get(link), 410)


def test_an_invitation_to_a_closed_organization_is_over(stranger: Client, link: str) -> None:
    Organization.objects.update(closed_at=factories.NOW)
    text(stranger.get(link), 410)


def test_the_token_is_in_no_referer_cache_or_further_address(stranger: Client, link: str) -> None:
    answer = stranger.get(link)
    assert answer.headers["Location"] == "/invitation"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer.headers["Cache-Control"]
    token = link.rsplit("/", 1)[1]
    page = stranger.get("/invitation")
    assert token not in text(page)
    assert "no-store" in page.headers["Cache-Control"]
    assert token not in str(dict(stranger.session))


def test_the_token_is_in_no_log(stranger: Client, link: str) -> None:
    token = link.rsplit("/", 1)[1]
    record = logging.LogRecord(
        "django.request",
        logging.WARNING,
        "x.py",
        1,
        "%s: %s",
        ("Gone", f"/invitations/{token}"),
        None,
    )
    assert SecretsFilter().filter(record)
    assert record.getMessage() == "Gone: /invitations/…"
    line = f'"GET /invitations/{token}?a=1 HTTP/1.1" 302 0'
    record = logging.LogRecord("django.server", logging.INFO, "x.py", 1, line, (), None)
    SecretsFilter().filter(record)
    assert record.getMessage() == '"GET /invitations/…?a=1 HTTP/1.1" 302 0'


def test_the_pages_take_their_methods_only(stranger: Client, link: str) -> None:
    assert stranger.post(link).status_code == 405
    assert stranger.delete("/invitation").status_code == 405
