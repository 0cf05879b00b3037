"""E-mails that came back: the page, and its export."""

import csv
from collections.abc import Iterator

from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.cache import never_cache

from invoices import pages
from invoices.access import MemberRequest, member_required
from invoices.bouncing import Filter
from invoices.methods import only
from invoices.models import Organization
from invoices.views.page import shown, whole_page


@only("GET", "HEAD")
@never_cache
@member_required
def bounce_list(request: MemberRequest) -> HttpResponse:
    parts = shown(request)
    before = request.GET.get("before", "")
    page = pages.bounces_page(
        request.member.organization,
        Filter.read(request.GET),
        before=before,
        formats=parts["formats"],
    )
    return whole_page(
        request, "invoices/bounces.html", page=page, before=before, notices=parts["notices"]
    )


@only("GET", "HEAD")
@never_cache
@member_required
def export_bounces(request: MemberRequest) -> StreamingHttpResponse:
    organization = request.member.organization
    return StreamingHttpResponse(
        _lines(organization, Filter.read(request.GET)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="bounces-{organization.slug}.csv"'},
    )


class _Echo:
    """A file that gives back what is written: one line of CSV at a time."""

    def write(self, line: str) -> str:
        return line


def _lines(organization: Organization, filter_: Filter) -> Iterator[str]:
    # Excel takes UTF-8 for what it is only behind this mark.
    yield "\ufeff"
    writer = csv.writer(_Echo())
    for cells in pages.bounces_as_cells(organization, filter_):
        yield writer.writerow(cells)
