"""Entering an invoice, new or to be corrected; the server says what it comes to."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from invoices import drafting, pages, resending
from invoices.access import MemberRequest, invoice_or_404, member_required, sender_only
from invoices.draft import version_of
from invoices.forms import fields
from invoices.forms.entries import Entry
from invoices.methods import only
from invoices.models import Invoice
from invoices.sending import CannotBeSent, last_delivery
from invoices.views.page import whole_page


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@sender_only
def new_invoice(request: MemberRequest) -> HttpResponse:
    organization = request.member.organization
    formats = pages.Formats.of(organization)
    if request.method != "POST":
        entry = Entry.of_new(
            organization,
            formats.locale,
            today=formats.today,
            customer=request.GET.get("customer", "")[:20],
        )
        return _form_page(request, entry)
    entry = Entry(organization, formats.locale, data=request.POST)
    if entry.step:
        return _form_page(request, entry.rearranged())
    if not entry.is_valid():
        return _form_page(request, entry)
    try:
        invoice = drafting.create(organization, entry.draft(), user_id=request.user.pk)
    except drafting.SameAddress as refusal:
        return _form_page(request, entry.sharing(), refusal=str(refusal))
    except drafting.CannotBeChanged as refusal:
        return _form_page(request, entry, refusal=str(refusal))
    messages.success(request, _("%s is saved as a draft.") % invoice.number)
    return redirect("invoice_detail", invoice.pk)


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@sender_only
def edit_invoice(request: MemberRequest, invoice_id: int) -> HttpResponse:
    invoice = invoice_or_404(request, invoice_id)
    locale = pages.Formats.of(request.member.organization).locale
    if request.method != "POST":
        if why := _cannot_be_edited(invoice):
            messages.error(request, why)
            return redirect("invoice_detail", invoice.pk)
        return _form_page(request, Entry.of_invoice(invoice, locale), invoice=invoice)
    entry = Entry(invoice.organization, locale, data=request.POST)
    if entry.step:
        return _form_page(request, entry.rearranged(), invoice=invoice)
    if not entry.is_valid():
        return _form_page(request, entry, invoice=invoice)
    return _save(request, invoice, entry)


@only("POST")
@never_cache
@member_required
@sender_only
def invoice_totals(request: MemberRequest) -> HttpResponse:
    """What the lines come to as they are typed; a fragment."""
    organization = request.member.organization
    formats = pages.Formats.of(organization)
    entry = Entry(organization, formats.locale, data=request.POST)
    context = {"totals": pages.totals_box(entry, formats)}
    return render(request, "invoices/fragments/totals.html", context)


@only("GET", "HEAD")
@never_cache
@member_required
@sender_only
def customer_options(request: MemberRequest) -> HttpResponse:
    """A few customers that what is typed so far may mean; a fragment."""
    found = fields.offered(request.member.organization, request.GET.get("customer", "")[:320])
    context = {"options": [fields.caption(customer) for customer in found]}
    return render(request, "invoices/fragments/customer_options.html", context)


def _cannot_be_edited(invoice: Invoice) -> str:
    """Say why there is no form: it would lose lines, or what it changes could not be sent."""
    lines = invoice.lines.count()
    if lines > drafting.MOST_LINES:
        return _("%(number)s has %(lines)s lines: a form holds %(most)s at most.") % {
            "number": invoice.number,
            "lines": lines,
            "most": drafting.MOST_LINES,
        }
    last = last_delivery(invoice)
    found = resending.retry_of(invoice, last)
    # Retried, it is made of what is stored by then.
    takes_corrections = found is not None and found.takes_corrections
    return drafting.cannot_be_changed(invoice, None if takes_corrections else last)


def _save(request: MemberRequest, invoice: Invoice, entry: Entry) -> HttpResponse:
    try:
        saved, corrected = _stored(request, invoice, entry)
    except Invoice.DoesNotExist:
        raise Http404 from None
    except drafting.ChangedMeanwhile as refusal:
        invoice = invoice_or_404(request, invoice.pk)
        entry = entry.over(version_of(invoice))
        overwrite = _("Nothing of yours is lost: save once more to put it in place of theirs.")
        return _form_page(request, entry, invoice=invoice, refusal=f"{refusal} {overwrite}")
    except drafting.SameAddress as refusal:
        return _form_page(request, entry.sharing(), invoice=invoice, refusal=str(refusal))
    except (drafting.CannotBeChanged, CannotBeSent, resending.MustBeConfirmed) as refusal:
        invoice = invoice_or_404(request, invoice.pk)
        return _form_page(request, entry, invoice=invoice, refusal=str(refusal))
    if "retry" not in request.POST:
        sentence = _("%s is saved.")
    elif corrected:
        sentence = _("%s is corrected and is being sent again.")
    else:
        sentence = _("%s is being sent again.")
    messages.success(request, sentence % saved.number)
    return redirect("invoice_detail", saved.pk)


def _stored(request: MemberRequest, invoice: Invoice, entry: Entry) -> tuple[Invoice, bool]:
    parts: dict[str, Any] = {
        "organization": request.member.organization,
        "version": entry.version,
        "user_id": request.user.pk,
    }
    if "retry" not in request.POST:
        return drafting.change(invoice.pk, entry.draft(), **parts), True
    return resending.correct_and_retry(
        invoice.pk,
        entry.draft(),
        died_at=died_at(request),
        confirmed="confirmed" in request.POST,
        **parts,
    )


def died_at(request: MemberRequest) -> datetime:
    """Return the death that the page showed. Raise `CannotBeSent` for what is no such thing."""
    try:
        moment = datetime.fromisoformat(request.POST.get("died_at", ""))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CannotBeSent(_("The page came incomplete: load it again."))
    return moment


def _form_page(
    request: MemberRequest, entry: Entry, *, invoice: Invoice | None = None, refusal: str = ""
) -> HttpResponse:
    formats = pages.Formats.of(request.member.organization)
    customers = fields.customers_of(request.member.organization).order_by("name", "pk")
    listed = list(customers[: fields.MOST_CHOICES + 1])
    response = whole_page(
        request,
        "invoices/edit.html",
        entry=entry,
        invoice=invoice,
        refusal=refusal,
        draft=pages.draft_page(entry, listed, formats),
        retry=invoice and pages.retry_page(invoice, last_delivery(invoice), formats=formats),
    )
    if refusal:
        response.status_code = 409
    return response
