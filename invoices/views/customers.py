"""The customers of an organization: the list, and each one's page."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from invoices import customers, editing, pages
from invoices.access import (
    MemberRequest,
    customer_or_404,
    member_required,
    sender_only,
    sender_to_change,
)
from invoices.forms.customers import CustomerForm
from invoices.methods import only
from invoices.models import Customer
from invoices.pages.customers import customer_page, customer_rows
from invoices.views.page import way_back, whole_page


@only("GET", "HEAD")
@never_cache
@member_required
def customer_list(request: MemberRequest) -> HttpResponse:
    organization = request.member.organization
    term = request.GET.get("q", "").strip()[:200]
    removed = request.GET.get("show") == "removed"
    found = customers.find(
        organization, term=term, removed=removed, after=_number(request.GET.get("after"))
    )
    return whole_page(
        request,
        "invoices/customers.html",
        rows=customer_rows(found.customers, formats=pages.Formats.of(organization)),
        next=found.next,
        after=request.GET.get("after"),
        term=term,
        removed=removed,
    )


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@sender_only
def new_customer(request: MemberRequest) -> HttpResponse:
    form = CustomerForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return whole_page(request, "invoices/customer.html", form=form)
    try:
        customer = customers.add(
            request.member.organization,
            form.values,
            user_id=request.user.pk,
            shared=form.cleaned_data["shared"],
        )
    except customers.AlreadyThere as there:
        messages.warning(request, _("There is a customer of this name and address already."))
        return redirect("edit_customer", there.customer.pk)
    except customers.SameAddress as found:
        form.ask_about_the_address()
        return whole_page(request, "invoices/customer.html", form=form, same=found.customer)
    messages.success(request, _("%s is now one of your customers.") % customer)
    return redirect("edit_customer", customer.pk)


@only("GET", "HEAD", "POST")
@never_cache
@member_required
@sender_to_change
def edit_customer(request: MemberRequest, customer_id: int) -> HttpResponse:
    customer = customer_or_404(request, customer_id)
    shown = customer_page(customer, formats=pages.Formats.of(request.member.organization))
    form = CustomerForm(request.POST or None, instance=customer)
    if request.method == "POST" and form.is_valid() and _changed(request, customer, form):
        return redirect(way_back(request) or reverse("edit_customer", args=[customer_id]))
    return whole_page(request, "invoices/customer.html", form=form, customer=shown)


@only("POST")
@member_required
@sender_only
def remove_customer(request: MemberRequest, customer_id: int) -> HttpResponse:
    customer = customer_or_404(request, customer_id)
    if customers.remove(customer, user_id=request.user.pk):
        messages.success(request, _("%s is removed. The invoices stay.") % customer)
    return redirect("edit_customer", customer_id)


@only("POST")
@member_required
@sender_only
def restore_customer(request: MemberRequest, customer_id: int) -> HttpResponse:
    customer = customer_or_404(request, customer_id)
    if customers.restore(customer, user_id=request.user.pk):
        messages.success(request, _("%s is back among the customers.") % customer)
    return redirect("edit_customer", customer_id)


def _changed(request: MemberRequest, customer: Customer, form: CustomerForm) -> bool:
    try:
        changed = customers.change(
            customer, form.values, seen=form.cleaned_data["seen"], user_id=request.user.pk
        )
    except editing.ChangedMeanwhile as conflict:
        form.tell_conflict(conflict)
        return False
    messages.success(request, _("Saved.") if changed else _("Nothing was different."))
    return True


def _number(text: str | None) -> int | None:
    # A number that PostgreSQL's bigint cannot hold is nobody's.
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None
