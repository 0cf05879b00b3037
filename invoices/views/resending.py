"""Sending once more: another e-mail of a sent invoice, or the dead one put back."""

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from invoices import pages, resending
from invoices.access import (
    MemberRequest,
    api_member_required,
    error,
    invoice_or_404,
    member_required,
    sender_only,
    wants_json,
)
from invoices.addresses import recipients_of
from invoices.forms.acts import AgainForm
from invoices.methods import only
from invoices.models import Invoice
from invoices.sending import CannotBeSent, last_delivery, times_requested
from invoices.views.drafts import died_at
from invoices.views.page import whole_page


@only("GET", "HEAD", "POST")
@never_cache
@api_member_required
@sender_only
def send_again(request: MemberRequest, invoice_id: int) -> HttpResponseBase:
    """Ask why, then promise one more e-mail; the form's number makes a double click one."""
    invoice = invoice_or_404(request, invoice_id)
    form = AgainForm(request.POST or None, number=times_requested(invoice))
    if request.method != "POST" or not form.is_valid():
        return _again_page(request, invoice, form)
    try:
        delivery = resending.send_again(
            invoice.pk,
            organization=request.member.organization,
            user_id=request.user.pk,
            **form.cleaned_data,
        )
    except CannotBeSent as refusal:
        return _refused(request, invoice, refusal)
    if wants_json(request):
        place = {"Location": reverse("delivery", args=[delivery.pk])}
        answer = {"deliveryId": delivery.pk, "status": delivery.status}
        return JsonResponse(answer, status=202, headers=place)
    again = _("%s is being sent again.") if form.cleaned_data["number"] else _("%s is being sent.")
    messages.success(request, again % invoice.number)
    return redirect("invoice_detail", invoice.pk)


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@sender_only
def retry_invoice(request: MemberRequest, invoice_id: int) -> HttpResponse:
    """Put the dead e-mail back, after saying what that does."""
    invoice = invoice_or_404(request, invoice_id)
    if request.method != "POST":
        return _retry_page(request, invoice)
    try:
        resending.retry(
            invoice.pk,
            died_at=died_at(request),
            confirmed="confirmed" in request.POST,
            organization=request.member.organization,
            user_id=request.user.pk,
        )
    except Invoice.DoesNotExist:
        raise Http404 from None
    except resending.MustBeConfirmed as refusal:
        return _retry_page(request, invoice, refusal=str(refusal))
    except CannotBeSent as refusal:
        return _refused(request, invoice, refusal)
    messages.success(request, _("%s is being sent again.") % invoice.number)
    return redirect("invoice_detail", invoice.pk)


def _again_page(request: MemberRequest, invoice: Invoice, form: AgainForm) -> HttpResponse:
    if request.method == "POST" and wants_json(request):
        return error(
            400,
            "invalid",
            " ".join(str(each) for errors in form.errors.values() for each in errors),
        )
    last = last_delivery(invoice)
    if not resending.may_be_sent_again(invoice, last):
        return _refused(request, invoice, _("There is nothing to send again at the moment."))
    return whole_page(
        request,
        "invoices/send_again.html",
        invoice=invoice,
        form=form,
        recipients=recipients_of(invoice),
        warnings=pages.warnings_of(invoice, pages.Formats.of(request.member.organization)),
        first=last is None,
    )


def _retry_page(request: MemberRequest, invoice: Invoice, *, refusal: str = "") -> HttpResponse:
    formats = pages.Formats.of(request.member.organization)
    retry = pages.retry_page(invoice, last_delivery(invoice), formats=formats)
    if retry is None:
        return _refused(request, invoice, _("There is nothing to send again at the moment."))
    response = whole_page(
        request,
        "invoices/retry.html",
        invoice=invoice,
        retry=retry,
        recipients=recipients_of(invoice),
        refusal=refusal,
    )
    response.status_code = 409 if refusal else 200
    return response


def _refused(request: MemberRequest, invoice: Invoice, refusal: Exception | str) -> HttpResponse:
    if request.method == "POST" and wants_json(request):
        return error(409, "cannot_be_sent", str(refusal))
    messages.error(request, str(refusal))
    return redirect("invoice_detail", invoice.pk)
