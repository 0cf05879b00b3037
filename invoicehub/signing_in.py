"""The login form."""

import re

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponseBase
from django.urls import Resolver404, resolve, reverse
from django_htmx.http import HttpResponseClientRefresh

from invoices.access import is_htmx

# Addresses of the pages' buttons and fragments: no pages of their own to come back to.
_NO_PAGES = {
    "change_role",
    "choose_organization",
    "invite",
    "invoice_state",
    "login",
    "logo",
    "logout",
    "pause_customer_reminders",
    "pause_reminders",
    "preview",
    "preview_letter",
    "remove_customer",
    "remove_logo",
    "remove_member",
    "renew_invitation",
    "restore_customer",
    "resume_customer_reminders",
    "resume_reminders",
    "revoke_invitation",
    "revoke_token",
    "send_invoice",
}


class LogInView(LoginView):
    redirect_authenticated_user = True
    next_page = "home"

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Have a page reload whose session ended under it, rather than put the form into a row."""
        if is_htmx(request):
            return HttpResponseClientRefresh()
        return super().dispatch(request, *args, **kwargs)

    def get_success_url(self) -> str:
        return _page_at(super().get_success_url())


def _page_at(url: str) -> str:
    """Return the address, or where its page is: after a click on a button, that of the invoice."""
    try:
        match = resolve(re.split(r"[?#]", url)[0])
    except Resolver404:
        return url
    if match.url_name == "invoice_list" and "?" not in url:
        # Where "/" sends whoever is not logged in; support belongs in the admin.
        return reverse("home")
    if match.url_name not in _NO_PAGES:
        return url
    invoice_id = match.kwargs.get("invoice_id")
    return reverse("invoice_detail", args=[invoice_id]) if invoice_id else reverse("home")
