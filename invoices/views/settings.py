"""The settings of an organization: all its members see them, its owners change them."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin

from invoices import branding, editing, letters, organizations
from invoices.access import (
    MemberRequest,
    is_htmx,
    member_required,
    owner_only,
    owner_to_change,
)
from invoices.forms.settings import EmailTextForm, LogoForm, OrganizationForm
from invoices.letters import Words
from invoices.methods import only
from invoices.models import EmailText, Logo
from invoices.pages import settings as pages
from invoices.pages.formats import Formats
from invoices.previewing import preview as preview_of
from invoices.views.page import whole_page

# An e-mail has inline styles, as e-mail clients want them, and may do nothing at all.
LETTER_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
PICTURE_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
_DRAFT_IN_SESSION = "email_text_draft"


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@owner_to_change
def organization_settings(request: MemberRequest) -> HttpResponse:
    organization = request.member.organization
    form = OrganizationForm(request.POST or None, instance=organization)
    if request.method == "POST" and form.is_valid():
        values, seen = form.values, form.cleaned_data["seen"]
        try:
            organizations.change(organization, values, seen=seen, user_id=request.user.pk)
        except editing.ChangedMeanwhile as conflict:
            form.tell_conflict(conflict)
        else:
            messages.success(request, _("The settings are saved."))
            return redirect("organization_settings")
    return _organization_page(request, form, LogoForm())


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@owner_to_change
def logo(request: MemberRequest) -> HttpResponse:
    """Show the picture to members, or take a new one."""
    organization = request.member.organization
    if request.method != "POST":
        return _picture(get_object_or_404(Logo, organization=organization))
    form = LogoForm(request.POST, request.FILES)
    if not form.is_valid():
        return _organization_page(request, OrganizationForm(instance=organization), form)
    branding.keep_logo(organization, form.cleaned_data["picture"], user_id=request.user.pk)
    messages.success(request, _("The logo is saved: it stands on invoices from now on."))
    return redirect("organization_settings")


@only("POST")
@member_required
@owner_only
def remove_logo(request: MemberRequest) -> HttpResponse:
    if branding.drop_logo(request.member.organization, user_id=request.user.pk):
        messages.success(request, _("The logo is removed."))
    return redirect("organization_settings")


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@owner_to_change
def email_texts(request: MemberRequest) -> HttpResponse:
    organization = request.member.organization
    forms = _text_forms(request)
    posted = forms.get(request.POST.get("kind", ""))
    if posted is not None and posted.is_valid():
        kind, values, seen = posted.instance.kind, posted.values, posted.cleaned_data["seen"]
        try:
            letters.keep_words(organization, kind, values, seen=seen, user_id=request.user.pk)
        except editing.ChangedMeanwhile as conflict:
            posted.tell_conflict(conflict)
        else:
            messages.success(request, _("The text is saved: it stands in e-mails from now on."))
            return redirect(f"{reverse('email_texts')}#{kind}")
    return _texts_page(request, forms)


@only("POST")
@never_cache
@member_required
@owner_only
def preview(request: MemberRequest) -> HttpResponse:
    """Show what is typed as the e-mail it would be; nothing is saved."""
    forms = _text_forms(request)
    posted = forms.get(request.POST.get("kind", ""))
    if posted is None:
        raise Http404("There is no such e-mail.")
    if posted.is_valid():
        request.session[_DRAFT_IN_SESSION] = posted.values | {"kind": posted.instance.kind}
    if not is_htmx(request):
        return _texts_page(request, forms)
    section = pages.text_section(posted, organization=request.member.organization, drafted=True)
    return render(request, "invoices/_preview.html", {"section": section})


@only("GET", "HEAD")
@xframe_options_sameorigin
@never_cache
@member_required
def preview_letter(request: MemberRequest, kind: str) -> HttpResponse:
    """The HTML of an e-mail, for a frame: with the draft of the last preview, or as stored."""
    organization = request.member.organization
    if kind not in EmailText.Kind.values:
        raise Http404("There is no such e-mail.")
    draft = request.session.get(_DRAFT_IN_SESSION, {}) if "draft" in request.GET else {}
    if draft.get("kind") == kind:
        words = Words(subject=draft["subject"], text=draft["text"])
    else:
        words = letters.words_of(organization, kind)
    shown = preview_of(organization, kind, words, today=Formats.of(organization).today)
    return HttpResponse(
        shown.letter.html,
        headers={"Content-Security-Policy": LETTER_POLICY, "Referrer-Policy": "no-referrer"},
    )


def _organization_page(
    request: MemberRequest, form: OrganizationForm, logo_form: LogoForm
) -> HttpResponse:
    organization = request.member.organization
    # The form has put what was typed into the organization that the page's header names.
    organization.refresh_from_db()
    return whole_page(
        request,
        "invoices/settings.html",
        form=form,
        logo_form=logo_form,
        logo=pages.logo_on_page(organization),
        facts=pages.organization_facts(organization),
    )


def _text_forms(request: MemberRequest) -> dict[str, EmailTextForm]:
    """Return a form for each kind of e-mail; the posted one knows what was typed."""
    organization = request.member.organization
    posted = request.POST.get("kind", "") if request.method == "POST" else ""
    return {
        kind: EmailTextForm(
            request.POST if kind == posted else None, instance=letters.row_of(organization, kind)
        )
        for kind in EmailText.Kind.values
    }


def _texts_page(request: MemberRequest, forms: dict[str, EmailTextForm]) -> HttpResponse:
    sections = [
        pages.text_section(form, organization=request.member.organization, drafted=form.is_bound)
        for form in forms.values()
    ]
    return whole_page(request, "invoices/texts.html", sections=sections)


def _picture(found: Logo) -> HttpResponse:
    return HttpResponse(
        bytes(found.content),
        content_type=found.content_type,
        headers={
            "Content-Security-Policy": PICTURE_POLICY,
            "X-Content-Type-Options": "nosniff",
            "Content-Disposition": "inline",
        },
    )
