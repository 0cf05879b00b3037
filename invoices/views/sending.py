"""The Send button, for people and programs, and what became of it."""

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from invoices import records, sending
from invoices.access import (
    MemberRequest,
    api_member_required,
    delivery_or_404,
    error,
    invoice_or_404,
    is_htmx,
    sender_only,
    wants_json,
)
from invoices.listing import query_back
from invoices.methods import only
from invoices.models import Invoice
from invoices.views.page import invoice_fragment


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
        return invoice_fragment(request, invoice_or_404(request, invoice_id), status=202)
    messages.success(request, _("%s is on its way.") % delivery.reference)
    return redirect(_back(request, invoice_id))


@only("GET", "HEAD")
@api_member_required
def delivery(request: MemberRequest, delivery_id: int) -> HttpResponse:
    return JsonResponse(records.delivery_record(delivery_or_404(request, delivery_id)))


def _refused(request: MemberRequest, invoice_id: int, refusal: Exception) -> HttpResponseBase:
    if wants_json(request):
        return error(409, "cannot_be_sent", str(refusal))
    messages.error(request, str(refusal))
    if is_htmx(request):
        return invoice_fragment(request, invoice_or_404(request, invoice_id))
    return redirect(_back(request, invoice_id))


def _back(request: MemberRequest, invoice_id: int) -> str:
    """Lead back to the page whose button was pressed, and to the place in it."""
    if request.POST.get("from") != "list":
        return reverse("invoice_detail", args=[invoice_id])
    query = query_back(request.POST.get("query", ""))
    return f"{reverse('invoice_list')}{query and f'?{query}'}#invoice-{invoice_id}"
