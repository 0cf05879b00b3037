"""What an invited person sees: no member yet, perhaps nobody with an account."""

from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from invoices import inviting
from invoices.access import ORGANIZATION_IN_SESSION
from invoices.forms.members import NewAccountForm
from invoices.inviting import AccountExists, NotValid
from invoices.methods import only
from invoices.models import Invitation, Member

INVITATION_IN_SESSION = "invitation"


@only("GET", "HEAD")
@never_cache
def open_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Take the token out of the address before a page is shown that could pass it on.

    No form may stand at this address: under `no-referrer` browsers post with `Origin: null`.
    """
    token_hash = inviting.hash_of(token)
    try:
        inviting.valid(token_hash)
    except NotValid as failure:
        response = _not_valid(request, failure.status)
    else:
        request.session[INVITATION_IN_SESSION] = token_hash
        response = redirect("invitation")
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@only("GET", "HEAD", "POST")
@never_cache
@sensitive_post_parameters()
def invitation(request: HttpRequest) -> HttpResponse:
    """Accept the invitation of the link that was opened last: as who is logged in, or as new."""
    token_hash = request.session.get(INVITATION_IN_SESSION, "")
    try:
        if request.method != "POST":
            return _page(request, inviting.valid(token_hash))
        if request.user.is_authenticated:
            return _welcome(request, inviting.accept(token_hash, request.user))
        return _as_new(request, token_hash)
    except NotValid as failure:
        return _not_valid(request, failure.status)


def _as_new(request: HttpRequest, token_hash: str) -> HttpResponse:
    found = inviting.valid(token_hash)
    form = NewAccountForm(request.POST, email=found.email)
    if not form.is_valid():
        return _page(request, found, form)
    try:
        member = inviting.accept_as_new(token_hash, form.cleaned_data["password"])
    except AccountExists:
        return _page(request, found)
    login(request, member.user)
    return _welcome(request, member)


def _page(
    request: HttpRequest, found: Invitation, form: NewAccountForm | None = None
) -> HttpResponse:
    context = {
        "invitation": found,
        "role": found.get_role_display(),
        "has_account": inviting.has_account(found.email),
        "form": form or NewAccountForm(email=found.email),
    }
    return render(request, "invoices/invitation.html", context)


def _welcome(request: HttpRequest, member: Member) -> HttpResponse:
    request.session[ORGANIZATION_IN_SESSION] = member.organization_id
    messages.success(request, _("Welcome to %s.") % member.organization.name)
    return redirect("invoice_list")


def _not_valid(request: HttpRequest, status: int) -> HttpResponse:
    """One page, whatever is wrong: it tells nothing about who was invited where."""
    return render(request, "invoices/no_invitation.html", status=status)
