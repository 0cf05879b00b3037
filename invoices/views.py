"""The finance pages. Each view: access first, one call into a rule module, then an answer."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin

from invoices import pages, sending
from invoices.access import (
    ORGANIZATION_IN_SESSION,
    MemberRequest,
    api_member_required,
    delivery_or_404,
    error,
    invoice_or_404,
    is_htmx,
    member_required,
    sender_only,
    wants_json,
)
from invoices.methods import only
from invoices.models import Invoice, Member
from invoices.pdf import InvoiceNotRenderable

INVOICES_PER_PAGE = 50


@only("GET", "HEAD")
def home(request: HttpRequest) -> HttpResponse:
    """Lead finance staff to their invoices; support, in no organization, to the admin."""
    user = request.user
    if user.is_staff and not Member.objects.filter(user_id=user.pk).exists():
        return redirect("admin:index")
    return redirect("invoice_list")


@only("GET", "HEAD")
@never_cache
@member_required
def invoice_list(request: MemberRequest) -> HttpResponse:
    invoices = (
        Invoice.objects.of(request.member.organization)
        .select_related("customer")
        .order_by("-issued_on", "-id")
    )
    page = Paginator(invoices, INVOICES_PER_PAGE).get_page(request.GET.get("page"))
    shown = _shown(request)
    rows = pages.invoice_rows(list(page), **shown)
    return whole_page(request, "invoices/list.html", page=page, rows=rows, notices=shown["notices"])


@only("GET", "HEAD")
@never_cache
@member_required
def invoice_detail(request: MemberRequest, invoice_id: int) -> HttpResponse:
    invoice = invoice_or_404(request, invoice_id)
    shown = _shown(request)
    return whole_page(
        request,
        "invoices/detail.html",
        invoice=pages.invoice_page(invoice, formats=shown["formats"]),
        panel=pages.email_panel(invoice, **shown),
        card=pages.reminders_card(invoice, member=request.member, formats=shown["formats"]),
        notices=shown["notices"],
    )


@only("GET", "HEAD")
@never_cache
@member_required
def invoice_state(request: MemberRequest, invoice_id: int) -> HttpResponse:
    """The parts of the pages that change while an e-mail is under way; polled by htmx."""
    return _state(request, invoice_or_404(request, invoice_id))


@only("GET", "HEAD")
@xframe_options_sameorigin
@never_cache
@member_required
def invoice_pdf(request: MemberRequest, invoice_id: int) -> HttpResponse:
    """The document: as it was sent, or as it would be."""
    try:
        pdf = pages.pdf_of(invoice_or_404(request, invoice_id))
    except InvoiceNotRenderable as failure:
        return _no_document(request, invoice_id, failure.reason)
    if pdf is None:
        return _no_document(request, invoice_id, _("The invoice has no amount."))
    response = HttpResponse(pdf.content, content_type="application/pdf")
    disposition = content_disposition_header(as_attachment=False, filename=pdf.name)
    response.headers["Content-Disposition"] = disposition or "inline"
    return response


@only("POST")
@api_member_required
@sender_only
def send_invoice(request: MemberRequest, invoice_id: int) -> HttpResponseBase:
    try:
        delivery = sending.send(
            invoice_id, organization=request.member.organization, user_id=request.user.pk
        )
    except Invoice.DoesNotExist:
        raise Http404 from None
    except sending.CannotBeSent as refusal:
        return _refused(request, invoice_id, refusal)
    if wants_json(request):
        return JsonResponse(
            {"deliveryId": delivery.pk, "status": delivery.status},
            status=202,
            headers={"Location": reverse("delivery", args=[delivery.pk])},
        )
    if is_htmx(request):
        return _state(request, invoice_or_404(request, invoice_id), status=202)
    return redirect(_back(request, invoice_id))


@only("GET", "HEAD")
@api_member_required
def delivery(request: MemberRequest, delivery_id: int) -> HttpResponse:
    found = delivery_or_404(request, delivery_id)
    return JsonResponse(
        {
            "deliveryId": found.pk,
            "status": found.status,
            "attempts": found.attempts,
            "nextAttemptAt": found.next_attempt_at,
            "error": found.last_error or None,
        }
    )


@only("POST")
@member_required
def choose_organization(request: MemberRequest) -> HttpResponse:
    member = get_object_or_404(
        Member,
        user=request.user,
        organization__slug=request.POST.get("organization", ""),
        organization__closed_at__isnull=True,
    )
    request.session[ORGANIZATION_IN_SESSION] = member.organization_id
    return redirect("invoice_list")


def _shown(request: MemberRequest) -> dict[str, Any]:
    """Return what every part of a page is made with."""
    organization = request.member.organization
    formats = pages.Formats.of(organization)
    return {
        "member": request.member,
        "formats": formats,
        "notices": pages.notices(organization, formats),
    }


def whole_page(request: MemberRequest, template: str, **context: object) -> HttpResponse:
    """Render a whole page: with the header's organizations, which fragments do without."""
    memberships = (
        Member.objects.filter(user_id=request.user.pk, organization__closed_at__isnull=True)
        .select_related("organization")
        .order_by("organization__name", "pk")
    )
    header = {"member": request.member, "memberships": list(memberships)}
    return render(request, template, header | context)


def _no_document(request: MemberRequest, invoice_id: int, reason: str) -> HttpResponse:
    context = {"member": request.member, "invoice_id": invoice_id, "reason": reason}
    return render(request, "invoices/no_document.html", context, status=404)


def _state(request: MemberRequest, invoice: Invoice, *, status: int = 200) -> HttpResponse:
    """Answer with the fragment that the asking page shows, or 204 if it shows just that."""
    shown = _shown(request)
    context: dict[str, Any] = {"member": request.member, "notices": shown["notices"]}
    subject: pages.InvoiceRow | pages.EmailPanel
    if request.GET.get("part") == "row":
        [subject] = pages.invoice_rows([invoice], **shown)
        template, context["row"] = "invoices/fragments/row.html", subject
    else:
        subject = pages.email_panel(invoice, **shown)
        template, context["panel"] = "invoices/fragments/panel.html", subject
    if request.GET.get("seen") == subject.version:
        return HttpResponse(status=204)
    if isinstance(subject, pages.EmailPanel) and subject.email.final:
        # What was sent may be reminded of: the card appears as it would on a reload.
        context["card"] = pages.reminders_card(
            invoice, member=request.member, formats=shown["formats"]
        )
    return render(request, template, context, status=status)


def _refused(request: MemberRequest, invoice_id: int, refusal: Exception) -> HttpResponseBase:
    if wants_json(request):
        return error(409, "cannot_be_sent", str(refusal))
    messages.error(request, str(refusal))
    if is_htmx(request):
        return _state(request, invoice_or_404(request, invoice_id))
    return redirect(_back(request, invoice_id))


def _back(request: MemberRequest, invoice_id: int) -> str:
    """Lead back to the page whose button was pressed, and to the place in it."""
    if request.POST.get("from") != "list":
        return reverse("invoice_detail", args=[invoice_id])
    page = request.POST.get("page", "")
    query = f"?page={page}" if page.isascii() and page.isdigit() else ""
    return f"{reverse('invoice_list')}{query}#invoice-{invoice_id}"
