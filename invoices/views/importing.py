"""Importing a file: upload, look at what it would do, confirm."""

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from invoices import importing, pages, uploads
from invoices.access import MemberRequest, member_required, object_or_404, sender_only
from invoices.forms.importing import OptionsForm, UploadForm
from invoices.listing import Filter
from invoices.methods import only
from invoices.models import Upload
from invoices.pages.importing import import_page
from invoices.views.page import see_other, whole_page


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@sender_only
def import_invoices(request: MemberRequest) -> HttpResponse:
    """Take a file, and lead to what importing it would do."""
    slug = request.member.organization.slug
    posted = (request.POST, request.FILES) if request.method == "POST" else ()
    form = UploadForm(*posted, slug=slug)
    if form.is_valid():
        file = form.cleaned_data["file"]
        upload = uploads.keep(
            file.read(), name=file.name, member=request.member, options=form.options
        )
        return see_other("upload", upload.pk)
    return whole_page(
        request,
        "invoices/import.html",
        form=form,
        columns=importing.COLUMNS,
        sample=importing.SAMPLE,
    )


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@sender_only
def upload(request: MemberRequest, upload_id: int) -> HttpResponse:
    """Show what the import would do; take another way to read the file, or the confirmation."""
    alive = Upload.objects.alive().select_related("organization")
    found = object_or_404(request, alive, upload_id)
    if request.method == "POST":
        return _confirmed(request, found) if "confirmed" in request.POST else _said(request, found)
    if found.imported_at is not None:
        return _finished(request, found)
    try:
        report = uploads.check(found)
    except importing.Unreadable as refusal:
        messages.error(request, str(refusal))
        return redirect("import_invoices")
    formats = pages.Formats.of(found.organization)
    form = OptionsForm(initial=vars(uploads.options_of(found)))
    shown = import_page(report, formats=formats)
    seal = uploads.seal_of(found, report)
    return whole_page(
        request, "invoices/upload.html", upload=found, shown=shown, form=form, seal=seal
    )


@only("GET", "HEAD")
@member_required
def sample(request: MemberRequest) -> HttpResponse:
    response = HttpResponse(importing.SAMPLE, content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = 'attachment; filename="invoices.csv"'
    return response


def _confirmed(request: MemberRequest, found: Upload) -> HttpResponse:
    try:
        done, report = uploads.confirm(
            found.pk, request.member.organization, seal=request.POST.get("seal", "")
        )
    except Upload.DoesNotExist:
        raise Http404 from None
    except uploads.NotAsShown:
        messages.error(request, _("It would be read otherwise by now. Look at it once more."))
        return see_other("upload", found.pk)
    except importing.Unreadable as refusal:
        messages.error(request, str(refusal))
        return see_other("import_invoices")
    if report is not None and not report.imported:
        messages.error(request, _("Nothing was imported: something is wrong by now. See below."))
        return see_other("upload", found.pk)
    return _finished(request, done)


def _finished(request: MemberRequest, done: Upload) -> HttpResponse:
    count, formats = done.imported or 0, pages.Formats.of(request.member.organization)
    text = ngettext(
        "%(count)s invoice was imported from %(name)s, as a draft.",
        "%(count)s invoices were imported from %(name)s, as drafts.",
        count,
    )
    messages.success(request, text % {"count": formats.count(count), "name": done.name})
    imported = Filter(imported=done.imported_at.isoformat() if done.imported_at else "")
    return HttpResponseRedirect(f"{reverse('invoice_list')}?{imported.query_string()}", status=303)


def _said(request: MemberRequest, found: Upload) -> HttpResponse:
    form = OptionsForm(request.POST)
    if form.is_valid():
        uploads.say(found, form.options)
    return see_other("upload", found.pk)
