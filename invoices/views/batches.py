"""Sending many at once: the question before it, and what became of it."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from invoices import bulk_sending, choosing, pages
from invoices.access import MemberRequest, member_required, object_or_404, sender_only
from invoices.methods import only
from invoices.models import Batch
from invoices.pages import batches as batch_pages
from invoices.pages.confirmations import confirmation
from invoices.views.page import see_other, whole_page

ROWS_PER_PAGE = 50
BATCHES_PER_PAGE = 20


@only("POST")
@never_cache
@member_required
@sender_only
def send_invoices(request: MemberRequest) -> HttpResponse:
    """Ask before many e-mails go out; once confirmed, promise them all in one answer."""
    organization = request.member.organization
    once = choosing.once_of(request.POST)
    if once and (begun := bulk_sending.batch_of(once, organization)):
        return see_other("batch", bulk_sending.proceed(begun).pk)
    try:
        choice = choosing.Choice.read(request.POST, organization)
    except bulk_sending.TooMany as refusal:
        return _nothing_done(request, str(refusal))
    except bulk_sending.NothingChosen:
        return _nothing_chosen(request)
    if once is None or request.POST.get("seal") != choice.seal:
        return _question(request, choice, changed=once is not None)
    batch = bulk_sending.send_many(
        choice.ids,
        organization=organization,
        user_id=request.user.pk,
        once=once,
        chosen=choice.words,
    )
    return see_other("batch", batch.pk)


@only("GET", "HEAD")
@never_cache
@member_required
def batch(request: MemberRequest, batch_id: int) -> HttpResponse:
    shown = _shown(request, batch_id)
    organization = request.member.organization
    notices = pages.notices(organization, pages.Formats.of(organization))
    return whole_page(request, "invoices/batch.html", notices=notices, **shown)


@only("GET", "HEAD")
@never_cache
@member_required
def batch_state(request: MemberRequest, batch_id: int) -> HttpResponse:
    """The part of a batch's page that changes while it goes out; polled by htmx."""
    shown = _shown(request, batch_id)
    if request.headers.get("X-Seen") == shown["batch"].version:
        return HttpResponse(status=204)
    context = {"member": request.member, "announce": True} | shown
    return render(request, "invoices/fragments/batch.html", context)


@only("POST")
@member_required
@sender_only
def continue_batch(request: MemberRequest, batch_id: int) -> HttpResponse:
    """Go on with a batch whose sending was interrupted."""
    return see_other("batch", bulk_sending.proceed(_batch_or_404(request, batch_id)).pk)


@only("GET", "HEAD")
@never_cache
@member_required
def batch_list(request: MemberRequest) -> HttpResponse:
    organization = request.member.organization
    found = (
        Batch.objects.filter(organization=organization)
        .select_related("requested_by")
        .order_by("-id")
    )
    page = Paginator(found, BATCHES_PER_PAGE).get_page(request.GET.get("page"))
    rows = batch_pages.batch_rows(list(page), formats=pages.Formats.of(organization))
    return whole_page(request, "invoices/batches.html", page=page, rows=rows)


def _question(request: MemberRequest, choice: choosing.Choice, *, changed: bool) -> HttpResponse:
    formats = pages.Formats.of(request.member.organization)
    question = confirmation(choice, formats=formats)
    return whole_page(request, "invoices/confirm_sending.html", question=question, changed=changed)


def _nothing_chosen(request: MemberRequest) -> HttpResponse:
    if "invoice" in request.POST:
        raise Http404
    return _nothing_done(request, _("There is nothing to send: no invoice was chosen."))


def _nothing_done(request: MemberRequest, why: str) -> HttpResponse:
    messages.warning(request, why)
    return redirect("invoice_list")


def _batch_or_404(request: MemberRequest, batch_id: int) -> Batch:
    return object_or_404(request, Batch.objects.select_related("requested_by"), batch_id)


def _shown(request: MemberRequest, batch_id: int) -> dict[str, Any]:
    """Return what a batch's page and its fragment show."""
    found = _batch_or_404(request, batch_id)
    group = request.GET.get("state")
    items = batch_pages.items_of(found, group)
    page = Paginator(items, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    formats = pages.Formats.of(request.member.organization)
    return {
        "page": page,
        "batch": batch_pages.batch_page(found, list(page), chosen=group, formats=formats),
    }
