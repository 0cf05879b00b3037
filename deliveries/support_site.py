"""The admin as support finds it: its start page, and one search.

Not in `deliveries.admin`, which registers at this site: whoever imports one of its modules first
would make two sites.
"""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path

from deliveries import right_now, tracing


class SupportSite(admin.AdminSite):
    site_header = "InvoiceHub support"
    site_title = "InvoiceHub support"
    index_title = "Right now"
    # Whoever belongs to no organization would only be led back here.
    site_url = None
    # Lists need the width; the header leads to what matters.
    enable_nav_sidebar = False

    def get_urls(self) -> list[URLPattern | URLResolver]:
        own = [path("trace/", self.admin_view(self.trace), name="trace")]
        return [*own, *super().get_urls()]

    def has_permission(self, request: HttpRequest) -> bool:
        """Let people in who have logged in; a program's token acts for a member, not for staff."""
        return super().has_permission(request) and not hasattr(request, "token_member")

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Show the numbers that matter now, as far as the person may see them, above the rest."""
        now = right_now.shown_to(request.user)
        return super().index(request, {"now": now, **(extra_context or {})})

    def trace(self, request: HttpRequest) -> HttpResponse:
        """Answer "I never got it": everything that is known of the invoices a term means."""
        if not request.user.has_perm("deliveries.view_delivery"):
            raise PermissionDenied
        # Who may not see messages could otherwise spell an address out, letter by letter.
        found = tracing.search(
            request.GET.get("q", ""), addresses=request.user.has_perm("deliveries.view_message")
        )
        context = {**self.each_context(request), "title": "Trace", "found": found}
        return TemplateResponse(request, "support/trace.html", context)
