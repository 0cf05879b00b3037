"""The end of an invoice: paid, or void."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from invoices import pages, payments, voiding
from invoices.access import MemberRequest, invoice_or_404, member_required, sender_only
from invoices.forms.acts import PaidForm, VoidForm
from invoices.methods import only
from invoices.views.page import whole_page


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@sender_only
def mark_paid(request: MemberRequest, invoice_id: int) -> HttpResponse:
    invoice = invoice_or_404(request, invoice_id)
    formats = pages.Formats.of(request.member.organization)
    form = PaidForm(request.POST or None, today=formats.today)
    if request.method == "POST" and form.is_valid():
        try:
            payments.mark_paid(
                invoice.pk,
                day=form.cleaned_data["day"],
                organization=request.member.organization,
                user_id=request.user.pk,
            )
        except payments.ImpossibleDay as refusal:
            form.add_error("day", str(refusal))
        except payments.WrongState as refusal:
            return _refused(request, invoice_id, refusal)
        else:
            messages.success(request, _("%s is marked as paid.") % invoice.number)
            return redirect("invoice_detail", invoice_id)
    return whole_page(request, "invoices/mark_paid.html", invoice=invoice, form=form)


@only("POST")
@member_required
@sender_only
def mark_unpaid(request: MemberRequest, invoice_id: int) -> HttpResponse:
    invoice = invoice_or_404(request, invoice_id)
    try:
        payments.mark_unpaid(
            invoice.pk, organization=request.member.organization, user_id=request.user.pk
        )
    except payments.WrongState as refusal:
        return _refused(request, invoice_id, refusal)
    messages.success(request, _("%s is open again.") % invoice.number)
    return redirect("invoice_detail", invoice_id)


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@sender_only
def void_invoice(request: MemberRequest, invoice_id: int) -> HttpResponse:
    invoice = invoice_or_404(request, invoice_id)
    form = VoidForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return whole_page(request, "invoices/void.html", invoice=invoice, form=form)
    try:
        voiding.void(
            invoice.pk,
            reason=form.cleaned_data["reason"],
            organization=request.member.organization,
            user_id=request.user.pk,
        )
    except voiding.CannotBeVoided as refusal:
        return _refused(request, invoice_id, refusal)
    messages.success(request, _("%s is void.") % invoice.number)
    return redirect("invoice_detail", invoice_id)


def _refused(request: MemberRequest, invoice_id: int, refusal: Exception) -> HttpResponse:
    messages.error(request, str(refusal))
    return redirect("invoice_detail", invoice_id)
