"""Who belongs to an organization, in which role. There is always an owner left.

Every change locks the organization's row first: two owners who remove each other at the same
moment are one after the other, and the second finds that he is none any more.
"""

import logging

from django.db import transaction
from django.utils.translation import gettext as _

from invoices.models import Invitation, Member, Organization

logger = logging.getLogger(__name__)


class NotAllowed(Exception):
    """The change cannot be made; the text says why, to the person who wanted it."""


def lock(organization_id: int) -> Organization:
    """Lock what stands for an organization's members and invitations, in the transaction."""
    return Organization.objects.select_for_update(no_key=True).get(pk=organization_id)


def change_role(member_id: int, role: str, *, by: Member) -> Member:
    """Give a member of the same organization another role; one transaction.

    Raise `NotAllowed`, and `Member.DoesNotExist`, also for another organization's.
    """
    if role not in Member.Role.values:
        raise NotAllowed(_("There is no such role."))
    with transaction.atomic():
        member = _locked_member(member_id, by=by)
        if member.role == role:
            return member
        if member.role == Member.Role.OWNER:
            _keep_an_owner(member)
        member.role = role
        member.save(update_fields=["role"])
        if not member.may_configure:
            _take_invitations_back(member)
    logger.info("role changed", extra=_fields(member, by) | {"role": role})
    return member


def remove(member_id: int, *, by: Member) -> Member:
    """Take a member out, with the API tokens and the open invitations; one transaction.

    Raise as `change_role` does.
    """
    with transaction.atomic():
        member = _locked_member(member_id, by=by)
        if member.role == Member.Role.OWNER:
            _keep_an_owner(member)
        _take_invitations_back(member)
        fields = _fields(member, by)
        Member.objects.filter(pk=member.pk).delete()
    logger.info("member removed", extra=fields)
    return member


def still_owner(by: Member) -> None:
    """Ask again under the lock: the request began before it. Raise `NotAllowed`."""
    if not Member.objects.filter(pk=by.pk, role=Member.Role.OWNER).exists():
        raise NotAllowed(_("You are no longer an owner of the organization."))


def _locked_member(member_id: int, *, by: Member) -> Member:
    lock(by.organization_id)
    still_owner(by)
    return Member.objects.select_related("user").get(
        pk=member_id, organization_id=by.organization_id
    )


def _keep_an_owner(member: Member) -> None:
    """An owner who cannot log in is none that counts."""
    others = Member.objects.filter(
        organization_id=member.organization_id, role=Member.Role.OWNER, user__is_active=True
    ).exclude(pk=member.pk)
    if not others.exists():
        raise NotAllowed(
            _("%s is the only owner: make somebody else an owner first.") % member.user
        )


def _take_invitations_back(member: Member) -> None:
    """Who may invite nobody any more has nobody invited."""
    Invitation.objects.open().filter(
        organization_id=member.organization_id, invited_by=member.user_id
    ).revoke()


def _fields(member: Member, by: Member) -> dict[str, object]:
    return {
        "organization": member.organization_id,
        "member": member.pk,
        "of": member.user_id,
        "user": by.user_id,
    }
