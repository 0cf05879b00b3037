"""Asking people to become members: by a link that is shown once, and works once, for a week.

Only the hash of a link's token is stored; who opens the link has its hash in the session from
then on, so that the token stands in no further address.
"""

import hashlib
import logging
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from invoices import members
from invoices.members import NotAllowed
from invoices.models import Invitation, Member

logger = logging.getLogger(__name__)

LIFETIME = timedelta(days=7)
MOST_OPEN = 200


class NotValid(Exception):
    """The link leads nowhere (404), or nowhere any more (410)."""

    def __init__(self, status: int) -> None:
        super().__init__(f"The invitation is not valid ({status}).")
        self.status = status


class AccountExists(Exception):
    """Somebody has an account of the invited address: that person has to log in."""


@dataclass(frozen=True, kw_only=True)
class Issued:
    """An invitation and its token, which is seen only now."""

    invitation: Invitation
    token: str


def hash_of(token: str) -> str:
    # Tokens are 256 random bits: a plain hash cannot be guessed backwards.
    return hashlib.sha256(token.encode()).hexdigest()


def invite(email: str, role: str, *, by: Member) -> Issued:
    """Invite an address that a form found valid; one transaction. Raise `NotAllowed`."""
    with transaction.atomic():
        members.lock(by.organization_id)
        _may_invite(email, role, by=by)
        issued = _issued(
            Invitation(organization_id=by.organization_id, email=email, role=role), by=by
        )
    _log("invitation made", issued.invitation, by)
    return issued


def renew(invitation_id: int, *, by: Member) -> Issued:
    """Make a new link in place of the old one, for another week; one transaction.

    Raise `Invitation.DoesNotExist` if it is none of the organization's open ones; `NotAllowed`.
    """
    with transaction.atomic():
        members.lock(by.organization_id)
        members.still_owner(by)
        issued = _issued(_open_one(invitation_id, by), by=by)
    _log("invitation renewed", issued.invitation, by)
    return issued


def revoke(invitation_id: int, *, by: Member) -> Invitation:
    """Take an open invitation back; one transaction. Raise as `renew` does."""
    with transaction.atomic():
        members.lock(by.organization_id)
        members.still_owner(by)
        invitation = _open_one(invitation_id, by)
        Invitation.objects.filter(pk=invitation.pk).revoke()
    _log("invitation revoked", invitation, by)
    return invitation


def valid(token_hash: str) -> Invitation:
    """Return the invitation that a link leads to, as things stand. Raise `NotValid`.

    One that was given by somebody who could not give that role today does not count.
    """
    found = (
        Invitation.objects.select_related("organization", "invited_by")
        .filter(token_hash=token_hash)
        .first()
    )
    if found is None:
        raise NotValid(404)
    over = found.accepted_at or found.revoked_at or found.organization.closed_at
    if over or found.expires_at <= timezone.now() or not _giver_may(found):
        raise NotValid(410)
    return found


def accept(token_hash: str, user: User) -> Member:
    """Make a user a member; one transaction. Raise `NotValid`.

    Who is a member already stays so, in the same role. A second click by the same person finds
    the membership that the first one made.
    """
    with transaction.atomic():
        invitation = _locked(token_hash, user)
        if invitation.accepted_at is None:
            Invitation.objects.filter(pk=invitation.pk).update(
                accepted_at=timezone.now(), accepted_by=user
            )
        member, made = Member.objects.get_or_create(
            organization_id=invitation.organization_id,
            user=user,
            defaults={"role": invitation.role},
        )
    if made:
        logger.info(
            "invitation accepted",
            extra={
                "invitation": invitation.pk,
                "organization": invitation.organization_id,
                "user": user.pk,
            },
        )
    return member


def accept_as_new(token_hash: str, password: str) -> Member:
    """Make an account of the invited address, and it a member; one transaction.

    The password is one that the validators let pass. Raise `NotValid`; `AccountExists`.
    """
    invitation = valid(token_hash)
    if has_account(invitation.email):
        raise AccountExists
    try:
        with transaction.atomic():
            user = User.objects.create_user(invitation.email, invitation.email, password)
            return accept(token_hash, user)
    except IntegrityError as error:
        if "auth_user_username_key" not in str(error):
            raise
        # The other half of a double click was faster.
        raise AccountExists from None


def has_account(email: str) -> bool:
    return User.objects.filter(username__iexact=email).exists()


def _may_invite(email: str, role: str, *, by: Member) -> None:
    members.still_owner(by)
    if role not in Member.Role.values:
        raise NotAllowed(_("There is no such role."))
    of_organization = Member.objects.filter(organization_id=by.organization_id)
    if of_organization.filter(Q(user__username__iexact=email) | Q(user__email__iexact=email)):
        raise NotAllowed(_("%s is a member already.") % email)
    waiting = Invitation.objects.open().filter(organization_id=by.organization_id)
    if waiting.filter(email__iexact=email).exists():
        raise NotAllowed(_("%s is invited already: make a new link in the list.") % email)
    if waiting.count() >= MOST_OPEN:
        raise NotAllowed(_("Too many invitations are open: revoke some first."))


def _issued(invitation: Invitation, *, by: Member) -> Issued:
    token = secrets.token_urlsafe(32)
    invitation.token_hash = hash_of(token)
    invitation.expires_at = timezone.now() + LIFETIME
    invitation.invited_by_id = by.user_id
    invitation.save()
    return Issued(invitation=invitation, token=token)


def _open_one(invitation_id: int, by: Member) -> Invitation:
    return Invitation.objects.open().get(pk=invitation_id, organization_id=by.organization_id)


def _giver_may(invitation: Invitation) -> bool:
    giver = invitation.invited_by
    return (
        giver is not None
        and giver.is_active
        and Member.objects.filter(
            organization_id=invitation.organization_id, user=giver, role=Member.Role.OWNER
        ).exists()
    )


def _locked(token_hash: str, user: User) -> Invitation:
    """Lock and look once more; an invitation that this user has accepted is valid to this user."""
    found = Invitation.objects.filter(token_hash=token_hash).first()
    if found is None:
        raise NotValid(404)
    members.lock(found.organization_id)
    found.refresh_from_db()
    mine = Member.objects.filter(organization_id=found.organization_id, user=user)
    if found.accepted_by_id == user.pk and mine.exists():
        return found
    return valid(token_hash)


def _log(what: str, invitation: Invitation, by: Member) -> None:
    logger.info(
        what,
        extra={
            "invitation": invitation.pk,
            "organization": invitation.organization_id,
            "role": invitation.role,
            "user": by.user_id,
        },
    )
