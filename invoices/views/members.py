"""The members of an organization and its open invitations: its owners' business."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from invoices import inviting, members
from invoices.access import MemberRequest, member_required, owner_only, person_only
from invoices.forms.members import InvitationForm
from invoices.inviting import Issued
from invoices.members import NotAllowed
from invoices.methods import only
from invoices.models import Invitation, Member
from invoices.pages.formats import Formats
from invoices.pages.members import invitation_rows, member_rows
from invoices.views.page import whole_page


@only("GET", "HEAD")
@never_cache
@member_required
@person_only
@owner_only
def member_list(request: MemberRequest) -> HttpResponse:
    return _page(request, InvitationForm())


@only("POST")
@member_required
@person_only
@owner_only
def change_role(request: MemberRequest, member_id: int) -> HttpResponse:
    try:
        member = members.change_role(member_id, request.POST.get("role", ""), by=request.member)
    except Member.DoesNotExist:
        raise Http404 from None
    except NotAllowed as refusal:
        messages.error(request, str(refusal))
    else:
        role = member.get_role_display().lower()
        messages.success(
            request, _("%(who)s is %(role)s now.") % {"who": member.user, "role": role}
        )
    return redirect("member_list")


@only("POST")
@member_required
@person_only
@owner_only
def remove_member(request: MemberRequest, member_id: int) -> HttpResponse:
    try:
        member = members.remove(member_id, by=request.member)
    except Member.DoesNotExist:
        raise Http404 from None
    except NotAllowed as refusal:
        messages.error(request, str(refusal))
        return redirect("member_list")
    messages.success(request, _("%s is no longer a member.") % member.user)
    return redirect("home" if member.user_id == request.user.pk else "member_list")


@only("POST")
@never_cache
@member_required
@person_only
@owner_only
def invite(request: MemberRequest) -> HttpResponse:
    """Invite, and answer with the link itself: a redirect could not carry it unseen."""
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    try:
        issued = inviting.invite(**form.cleaned_data, by=request.member)
    except NotAllowed as refusal:
        form.add_error("email", str(refusal))
        return _page(request, form)
    return _page(request, InvitationForm(), issued)


@only("POST")
@never_cache
@member_required
@person_only
@owner_only
def renew_invitation(request: MemberRequest, invitation_id: int) -> HttpResponse:
    try:
        issued = inviting.renew(invitation_id, by=request.member)
    except Invitation.DoesNotExist:
        raise Http404 from None
    except NotAllowed as refusal:
        messages.error(request, str(refusal))
        return redirect("member_list")
    return _page(request, InvitationForm(), issued)


@only("POST")
@member_required
@person_only
@owner_only
def revoke_invitation(request: MemberRequest, invitation_id: int) -> HttpResponse:
    try:
        invitation = inviting.revoke(invitation_id, by=request.member)
    except Invitation.DoesNotExist:
        raise Http404 from None
    except NotAllowed as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(
            request, _("The invitation of %s is revoked: its link is dead.") % invitation.email
        )
    return redirect("member_list")


def _page(
    request: MemberRequest, form: InvitationForm, issued: Issued | None = None
) -> HttpResponse:
    organization = request.member.organization
    formats = Formats.of(organization)
    return whole_page(
        request,
        "invoices/members.html",
        form=form,
        rows=member_rows(request.member, formats=formats),
        invitations=invitation_rows(organization, formats=formats),
        issued=issued.invitation if issued else None,
        link=_link(request, issued) if issued else "",
    )


def _link(request: MemberRequest, issued: Issued) -> str:
    return request.build_absolute_uri(reverse("open_invitation", args=[issued.token]))
