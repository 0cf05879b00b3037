"""The finance pages. Each view: access first, one call into a rule module, then an answer."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from invoices import sending
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
from invoices.models import Invoice, Member
from invoices.pages import InvoicePage, invoice_rows

INVOICES_PER_PAGE = 50


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    return redirect("invoice_list")


@require_GET
@member_required
def invoice_list(request: MemberRequest) -> HttpResponse:
    invoices = (
        Invoice.objects.of(request.member.organization)
        .select_related("customer")
        .order_by("-issued_on", "-id")
    )
    page = Paginator(invoices, INVOICES_PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "rows": invoice_rows(list(page)), "member": request.member}
    return render(request, "invoices/list.html", context)


@require_GET
@member_required
def invoice_detail(request: MemberRequest, invoice_id: int) -> HttpResponse:
    invoice = invoice_or_404(request, invoice_id)
    context = {"page": InvoicePage(invoice), "member": request.member}
    return render(request, "invoices/detail.html", context)


@require_GET
@member_required
def invoice_state(request: MemberRequest, invoice_id: int) -> HttpResponse:
    """The parts of the pages that change while an e-mail is under way; polled by htmx."""
    return _state(request, invoice_or_404(request, invoice_id))


@require_GET
@member_required
def invoice_pdf(request: MemberRequest, invoice_id: int) -> HttpResponse:
    """The document: as it was sent, or as it would be."""
    page = InvoicePage(invoice_or_404(request, invoice_id))
    if (pdf := page.pdf()) is None:
        raise Http404("There is no document while the invoice has no amount.")
    response = HttpResponse(pdf, content_type="application/pdf")
    response.headers["Content-Disposition"] = f'inline; filename="{page.file_name}"'
    return response


@require_POST
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
    location = reverse("delivery", args=[delivery.pk])
    if wants_json(request):
        answer = {"deliveryId": delivery.pk, "status": delivery.status}
        return JsonResponse(answer, status=202, headers={"Location": location})
    if is_htmx(request):
        return _state(request, invoice_or_404(request, invoice_id), status=202)
    return redirect(_back(request, invoice_id))


@require_GET
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


@require_POST
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


def _state(request: MemberRequest, invoice: Invoice, *, status: int = 200) -> HttpResponse:
    """Answer with the fragment that the asking page shows: a row of the list, or the detail's."""
    member = request.member
    if request.GET.get("part") == "row":
        [row] = invoice_rows([invoice])
        template, context = "invoices/list.html#row", {"row": row, "member": member}
    else:
        template = "invoices/detail.html#state"
        context = {"page": InvoicePage(invoice), "member": member}
    return render(request, template, context, status=status)


def _refused(request: MemberRequest, invoice_id: int, refusal: Exception) -> HttpResponseBase:
    if wants_json(request):
        return error(409, "cannot_be_sent", str(refusal))
    if is_htmx(request):
        return _state(request, invoice_or_404(request, invoice_id))
    messages.error(request, str(refusal))
    return redirect(_back(request, invoice_id))


def _back(request: MemberRequest, invoice_id: int) -> str:
    """Lead back to the page whose button was pressed."""
    if request.POST.get("from") == "list":
        return f"{reverse('invoice_list')}#invoice-{invoice_id}"
    return reverse("invoice_detail", args=[invoice_id])
