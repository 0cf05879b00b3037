"""What every finance page is made with."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme

from invoices import pages
from invoices.access import MemberRequest
from invoices.models import Invoice, Member


def shown(request: MemberRequest) -> dict[str, Any]:
    """Return what every part of a page is made with."""
    organization = request.member.organization
    formats = pages.Formats.of(organization)
    return {
        "member": request.member,
        "formats": formats,
        "notices": pages.notices(organization, formats),
    }


def whole_page(request: MemberRequest, template: str, **context: object) -> HttpResponse:
    """Render a whole page: with the header's organizations, which fragments do without."""
    memberships = (
        Member.objects.filter(user_id=request.user.pk, organization__closed_at__isnull=True)
        .select_related("organization")
        .order_by("organization__name", "pk")
    )
    header = {"member": request.member, "memberships": list(memberships)}
    return render(request, template, header | context)


def way_back(request: HttpRequest) -> str:
    """Return the page of ours that the address names as `next`; empty for none."""
    return local_path(request.GET.get("next", ""))


def local_path(wanted: str) -> str:
    """Return the path if it is one of ours; empty for what could lead to another site."""
    local = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return wanted if local else ""


def see_other(to: str, *args: object) -> HttpResponse:
    """Answer a form with 303: whatever the browser sent, it comes back by GET."""
    response = redirect(to, *args)
    response.status_code = 303
    return response


def invoice_fragment(
    request: MemberRequest, invoice: Invoice, *, status: int = 200
) -> HttpResponse:
    """Answer with the fragment that the asking page shows, or 204 if it shows just that."""
    parts = shown(request)
    context: dict[str, Any] = {
        "member": request.member,
        "notices": parts["notices"],
        "clicked": request.method == "POST",
    }
    subject: pages.InvoiceRow | pages.EmailPanel
    if request.GET.get("part") == "row":
        [subject] = pages.invoice_rows([invoice], **parts)
        template, context["row"] = "invoices/fragments/row.html", subject
    else:
        subject = pages.email_panel(invoice, **parts)
        template, context["panel"] = "invoices/fragments/panel.html", subject
    if request.GET.get("seen") == subject.version:
        return HttpResponse(status=204)
    if isinstance(subject, pages.EmailPanel) and subject.email.final:
        # What was sent may be reminded of: the card appears as it would on a reload.
        context["card"] = pages.reminders_card(
            invoice, member=request.member, formats=parts["formats"]
        )
    response = render(request, template, context, status=status)
    # The list's counts follow its rows.
    response.headers["HX-Trigger-After-Swap"] = "counted"
    return response
