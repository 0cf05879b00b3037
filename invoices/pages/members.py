"""The pages about people: members, open invitations, API tokens."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from invoices.forms.members import ROLES
from invoices.models import ApiToken, Invitation, Member, Organization
from invoices.pages.formats import Formats


@dataclass(frozen=True, kw_only=True)
class Role:
    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class MemberRow:
    id: int
    name: str
    email: str
    last_login: str
    active: bool
    own: bool
    roles: tuple[Role, ...]


@dataclass(frozen=True, kw_only=True)
class InvitationRow:
    id: int
    email: str
    role: str
    invited_by: str
    # When its link ends, in words.
    until: str
    expired: bool


@dataclass(frozen=True, kw_only=True)
class TokenRow:
    id: int
    name: str
    made: str


def member_rows(viewed_by: Member, *, formats: Formats) -> list[MemberRow]:
    """Return the members of an organization, owners first; one query."""
    members = Member.objects.filter(organization=viewed_by.organization).select_related("user")
    order = list(Member.Role.values)
    return [
        MemberRow(
            id=member.pk,
            name=member.user.get_full_name() or member.user.get_username(),
            email=member.user.email,
            last_login=(
                formats.moment(member.user.last_login).text
                if member.user.last_login
                else _("Never")
            ),
            active=member.user.is_active,
            own=member.pk == viewed_by.pk,
            roles=_roles(member.role),
        )
        for member in sorted(
            members, key=lambda member: (order.index(member.role), member.user.username)
        )
    ]


def invitation_rows(organization: Organization, *, formats: Formats) -> list[InvitationRow]:
    """Return the open invitations, newest first; one query."""
    invitations = (
        Invitation.objects.open()
        .filter(organization=organization)
        .select_related("invited_by")
        .order_by("-pk")
    )
    return [
        InvitationRow(
            id=invitation.pk,
            email=invitation.email,
            role=invitation.get_role_display(),
            invited_by=invitation.invited_by.get_username() if invitation.invited_by else "",
            until=formats.moment(invitation.expires_at).text,
            expired=invitation.expires_at <= formats.now,
        )
        for invitation in invitations
    ]


def token_rows(member: Member, *, formats: Formats) -> list[TokenRow]:
    """Return a member's own live tokens, newest first; one query."""
    tokens = ApiToken.objects.filter(member=member, revoked_at__isnull=True).order_by("-pk")
    return [
        TokenRow(id=token.pk, name=token.name, made=formats.moment(token.created_at).text)
        for token in tokens
    ]


def _roles(chosen: str) -> tuple[Role, ...]:
    return tuple(
        Role(value=value, label=str(label), chosen=value == chosen) for value, label in ROLES
    )
