"""Each member's own API tokens."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from invoices import tokens
from invoices.access import MemberRequest, member_required, person_only
from invoices.forms.members import TokenForm
from invoices.methods import only
from invoices.pages.formats import Formats
from invoices.pages.members import token_rows
from invoices.views.page import whole_page


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@person_only
def token_list(request: MemberRequest) -> HttpResponse:
    """The list; a post makes a token, and answers with it: a redirect could not carry it unseen."""
    form = TokenForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return _page(request, form)
    name = form.cleaned_data["name"]
    try:
        token = tokens.issue_one(request.member, name=name)
    except tokens.NotIssued as refusal:
        form.add_error("name", str(refusal))
        return _page(request, form)
    return _page(request, TokenForm(), token=token, name=name)


@only("POST")
@member_required
@person_only
def revoke_token(request: MemberRequest, token_id: int) -> HttpResponse:
    if not request.member.api_tokens.filter(pk=token_id).exists():
        raise Http404
    if tokens.revoke(token_id, member=request.member):
        messages.success(request, _("The token is revoked: it opens nothing any more."))
    return redirect("token_list")


def _page(
    request: MemberRequest, form: TokenForm, *, token: str = "", name: str = ""
) -> HttpResponse:
    formats = Formats.of(request.member.organization)
    return whole_page(
        request,
        "invoices/tokens.html",
        form=form,
        rows=token_rows(request.member, formats=formats),
        token=token,
        name=name,
    )
