"""Members: roles, removal, and that an owner always remains."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from invoices import inviting, members, tokens
from invoices.members import NotAllowed
from invoices.models import ApiToken, Invitation, Member, Organization
from tests import factories
from tests.reading import text


@pytest.fixture
def member(organization: Organization) -> Member:
    return factories.make_member(organization, "ada").memberships.get()


def role_of(member: Member) -> str:
    return Member.objects.get(pk=member.pk).role


def test_the_list_shows_roles_and_last_logins(as_owner: Client, member: Member) -> None:
    User.objects.filter(username="ada").update(last_login=factories.NOW)
    page = text(as_owner.get("/settings/members"))
    assert "ada@people.example" in page
    assert "Last login: 2 Mar, 10:00" in page
    assert '<option value="member" selected>Member</option>' in page


def test_an_owner_changes_a_role(as_owner: Client, member: Member) -> None:
    page = text(
        as_owner.post(f"/settings/members/{member.pk}/role", {"role": "viewer"}, follow=True)
    )
    assert "ada is viewer now." in page
    assert role_of(member) == "viewer"


@pytest.mark.parametrize("role", ["", "admin", "OWNER", "x" * 1000])
def test_a_role_that_is_none_is_refused(as_owner: Client, member: Member, role: str) -> None:
    as_owner.post(f"/settings/members/{member.pk}/role", {"role": role})
    assert role_of(member) == "member"


def test_a_removed_member_is_out_at_once_with_all_tokens(
    as_owner: Client, member: Member, django_user_model: type[User]
) -> None:
    token = tokens.issue(member, name="ERP")
    ada = Client()
    ada.force_login(member.user)
    text(as_owner.post(f"/settings/members/{member.pk}/remove", follow=True))
    assert ada.get("/invoices").status_code == 404
    bearer = {"Authorization": f"Bearer {token}"}
    assert Client().get("/deliveries/1", headers=bearer).status_code == 401
    assert not ApiToken.objects.exists()
    assert as_owner.post(f"/settings/members/{member.pk}/remove").status_code == 404


def test_the_only_owner_stays_an_owner(as_owner: Client, owner: User, member: Member) -> None:
    own = owner.memberships.get()
    for address, form in (("role", {"role": "viewer"}), ("remove", {})):
        page = text(as_owner.post(f"/settings/members/{own.pk}/{address}", form, follow=True))
        assert "owner is the only owner: make somebody else an owner first." in page
    assert role_of(own) == "owner"


def test_an_owner_who_cannot_log_in_does_not_count(
    as_owner: Client, owner: User, organization: Organization
) -> None:
    second = factories.make_member(organization, "second", "owner")
    User.objects.filter(pk=second.pk).update(is_active=False)
    with pytest.raises(NotAllowed, match="only owner"):
        members.remove(owner.memberships.get().pk, by=owner.memberships.get())


def test_an_owner_may_leave_where_another_remains(
    as_owner: Client, owner: User, organization: Organization
) -> None:
    factories.make_member(organization, "second", "owner")
    answer = as_owner.post(f"/settings/members/{owner.memberships.get().pk}/remove")
    assert answer.headers["Location"] == "/"
    assert as_owner.get("/settings/members").status_code == 404


def test_who_may_invite_nobody_any_more_has_nobody_invited(
    organization: Organization, owner: User
) -> None:
    second = factories.make_member(organization, "second", "owner").memberships.get()
    inviting.invite("eve@x.example", "member", by=second)
    members.change_role(second.pk, "member", by=owner.memberships.get())
    assert Invitation.objects.get().revoked_at is not None


def test_a_demoted_owner_changes_nothing_more(organization: Organization, owner: User) -> None:
    second = factories.make_member(organization, "second", "owner").memberships.get()
    stale = Member.objects.get(pk=second.pk)
    members.change_role(second.pk, "member", by=owner.memberships.get())
    with pytest.raises(NotAllowed, match="no longer an owner"):
        members.remove(owner.memberships.get().pk, by=stale)


def test_two_owners_who_remove_each_other_leave_one(transactional_db: None) -> None:
    organization = factories.make_organization()
    both = [
        factories.make_member(organization, name, "owner").memberships.get()
        for name in ("first", "second")
    ]
    ready, outcomes = threading.Barrier(2), []

    def remove(one: Member, other: Member) -> None:
        try:
            ready.wait(timeout=10)
            members.remove(other.pk, by=one)
            outcomes.append("removed")
        except NotAllowed:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=remove, args=pair) for pair in (both, list(reversed(both)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert sorted(outcomes) == ["refused", "removed"]
    assert Member.objects.filter(organization=organization, role="owner").count() == 1


# Who ------------------------------------------------------------------------------------------


def test_only_owners_see_and_change_members(
    client: Client, viewer: User, organization: Organization, member: Member
) -> None:
    for user in (viewer, member.user):
        client.force_login(user)
        assert client.get("/settings/members").status_code == 403
        for address in ("role", "remove"):
            answer = client.post(f"/settings/members/{member.pk}/{address}", {"role": "owner"})
            assert answer.status_code == 403
    assert role_of(member) == "member"


def test_an_outsider_finds_nobody(client: Client, outsider: User, member: Member) -> None:
    client.force_login(outsider)
    assert "ada" not in text(client.get("/settings/members"))
    for address in ("role", "remove"):
        answer = client.post(f"/settings/members/{member.pk}/{address}", {"role": "owner"})
        assert answer.status_code == 404


def test_a_token_is_no_person(client: Client, owner: User, member: Member) -> None:
    token = tokens.issue(owner.memberships.get(), name="ERP")
    bearer = {"Authorization": f"Bearer {token}"}
    assert client.get("/settings/members", headers=bearer).status_code == 403
    answer = client.post(f"/settings/members/{member.pk}/remove", headers=bearer)
    assert answer.status_code == 403


def test_each_address_takes_its_methods_only(as_owner: Client, member: Member) -> None:
    assert as_owner.post("/settings/members").status_code == 405
    for address in ("role", "remove"):
        assert as_owner.get(f"/settings/members/{member.pk}/{address}").status_code == 405
    assert as_owner.post(f"/settings/members/{'9' * 30}/remove").status_code == 404
