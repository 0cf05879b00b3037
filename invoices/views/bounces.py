"""E-mails that came back: the page, and its export."""

import csv
from collections.abc import Iterator

from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.cache import never_cache

from invoices import pages
from invoices.access import MemberRequest, member_required
from invoices.methods import only
from invoices.models import Organization
from invoices.views.page import shown, whole_page

BOUNCES_PER_PAGE = 50


@only("GET", "HEAD")
@never_cache
@member_required
def bounce_list(request: MemberRequest) -> HttpResponse:
    parts = shown(request)
    found = pages.bounces_of(request.member.organization)
    page = Paginator(found, BOUNCES_PER_PAGE).get_page(request.GET.get("page"))
    rows = pages.bounce_rows(list(page), parts["formats"])
    return whole_page(
        request, "invoices/bounces.html", page=page, rows=rows, notices=parts["notices"]
    )


@only("GET", "HEAD")
@never_cache
@member_required
def export_bounces(request: MemberRequest) -> StreamingHttpResponse:
    organization = request.member.organization
    return StreamingHttpResponse(
        _lines(organization),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="bounces-{organization.slug}.csv"'},
    )


class _Echo:
    """A file that gives back what is written: one line of CSV at a time."""

    def write(self, line: str) -> str:
        return line


def _lines(organization: Organization) -> Iterator[str]:
    # Excel takes UTF-8 for what it is only behind this mark.
    yield "\ufeff"
    writer = csv.writer(_Echo())
    for cells in pages.bounces_as_cells(organization):
        yield writer.writerow(cells)
