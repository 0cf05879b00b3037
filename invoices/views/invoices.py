"""The invoices of an organization: the list, and each one's page and document."""

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin

from invoices import exporting, pages
from invoices.access import MemberRequest, invoice_or_404, member_required
from invoices.listing import Filter, today_of
from invoices.methods import only
from invoices.paging import Place
from invoices.pdf import InvoiceNotRenderable
from invoices.views.page import invoice_fragment, shown, whole_page


@only("GET", "HEAD")
@never_cache
@member_required
def invoice_list(request: MemberRequest) -> HttpResponse:
    parts = shown(request)
    filter_ = Filter.read(request.GET)
    place = Place.read(request.GET, filter_.order)
    organization, formats = request.member.organization, parts["formats"]
    listing = pages.InvoiceListing.of(organization, filter_, place, formats)
    rows = pages.invoice_rows(listing.invoices, **parts)
    return whole_page(
        request,
        "invoices/list.html",
        listing=listing,
        rows=rows,
        notices=parts["notices"],
        came_back=pages.came_back_note(organization, formats),
    )


@only("GET", "HEAD")
@never_cache
@member_required
def export_invoices(request: MemberRequest) -> StreamingHttpResponse:
    """The list's invoices, all pages of them, as CSV."""
    organization = request.member.organization
    response = StreamingHttpResponse(
        exporting.csv_of(organization, Filter.read(request.GET)),
        content_type="text/csv; charset=utf-8",
    )
    name = f"{organization.slug}-invoices-{today_of(organization)}.csv"
    disposition = content_disposition_header(as_attachment=True, filename=name)
    response.headers["Content-Disposition"] = disposition or "attachment"
    return response


@only("GET", "HEAD")
@never_cache
@member_required
def invoice_detail(request: MemberRequest, invoice_id: int) -> HttpResponse:
    invoice = invoice_or_404(request, invoice_id)
    parts = shown(request)
    return whole_page(
        request,
        "invoices/detail.html",
        invoice=pages.invoice_page(invoice, formats=parts["formats"]),
        panel=pages.email_panel(invoice, **parts),
        card=pages.reminders_card(invoice, member=request.member, formats=parts["formats"]),
        notices=parts["notices"],
        batch_note=pages.running_batch_of([invoice]).get(invoice.pk),
    )


@only("GET", "HEAD")
@never_cache
@member_required
def invoice_state(request: MemberRequest, invoice_id: int) -> HttpResponse:
    """The parts of the pages that change while an e-mail is under way; polled by htmx."""
    return invoice_fragment(request, invoice_or_404(request, invoice_id))


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


def _no_document(request: MemberRequest, invoice_id: int, reason: str) -> HttpResponse:
    context = {"member": request.member, "invoice_id": invoice_id, "reason": reason}
    return render(request, "invoices/no_document.html", context, status=404)
