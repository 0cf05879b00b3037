"""Invoices for programs; what they send, they send by `invoices.views.sending`."""

from django.http import HttpResponse, JsonResponse, QueryDict
from django.urls import reverse
from django.views.decorators.cache import never_cache

from invoices import paging, records
from invoices.access import MemberRequest, api_member_required, error, invoice_or_404
from invoices.listing import Filter, Tab
from invoices.methods import only
from invoices.paging import ORDERS, Place
from invoices.short_reads import by_index_alone


@only("GET", "HEAD")
@never_cache
@api_member_required
def invoice_records(request: MemberRequest) -> HttpResponse:
    """One page of the organization's invoices, by the parameters of the list's page."""
    filter_ = Filter.read(request.GET)
    place = Place.read(request.GET, filter_.order)
    if wrong := _misread(request.GET, filter_, place):
        return error(400, "bad_request", wrong)
    with by_index_alone():
        invoices = filter_.invoices(request.member.organization).select_related("customer")
        page = paging.turn_to(place, invoices, filter_.order)
    onwards = filter_.query_string(**page.next.parameters) if page.next else ""
    return JsonResponse(
        {
            "invoices": records.summaries_of(page.invoices),
            "next": f"{reverse('invoice_records')}?{onwards}" if onwards else None,
        }
    )


@only("GET", "HEAD")
@never_cache
@api_member_required
def invoice_record(request: MemberRequest, invoice_id: int) -> HttpResponse:
    return JsonResponse(records.record_of(invoice_or_404(request, invoice_id)))


def _misread(query: QueryDict, filter_: Filter, place: Place) -> str:
    """Say which parameter was no use: a person sees that a tab is wrong, a program does not.

    Least of all a place that cannot be read, which would lead to the first page for ever.
    """
    if query.get("tab", filter_.tab) != filter_.tab:
        return f"tab is one of {', '.join(Tab.values)}."
    if query.get("sort", filter_.sort) != filter_.sort:
        return f"sort is one of {', '.join(ORDERS)}."
    for name in ("after", "before"):
        if query.get(name, "") != getattr(place, name):
            return f"{name} is no place in this order: follow “next”."
    return ""
