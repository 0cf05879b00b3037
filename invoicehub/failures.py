"""Failures that no view answered itself: JSON for programs, a page for people."""

import sys

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views import csrf, defaults

from invoicehub.database_errors import is_away
from invoices.access import error, wants_json


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if wants_json(request):
        return error(400, "bad_request", _("The request cannot be understood."))
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if wants_json(request):
        return error(403, "forbidden", str(exception) or _("This is not allowed."))
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if wants_json(request):
        return error(404, "not_found", _("There is nothing at this address."))
    return defaults.page_not_found(request, exception)


def broken(request: HttpRequest) -> HttpResponse:
    """Tell a database that is away, which passes, from a fault of ours."""
    if is_away(sys.exc_info()[1]):
        answer = _unavailable(request)
        answer.headers["Retry-After"] = "5"
        return answer
    if wants_json(request):
        return error(500, "internal_error", _("The fault is ours, and has been logged."))
    return defaults.server_error(request)


def _unavailable(request: HttpRequest) -> HttpResponse:
    if wants_json(request):
        return error(503, "unavailable", _("The database does not answer: try again later."))
    page: HttpResponse = defaults.server_error(request, "503.html")
    page.status_code = 503
    return page


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """For `CSRF_FAILURE_VIEW`: a program that is nobody lacks more than a token."""
    if not wants_json(request):
        return csrf.csrf_failure(request, reason)
    if not request.user.is_authenticated:
        return error(401, "unauthorized", _("Log in, or send a valid bearer token."))
    return error(403, "csrf_failed", _("Send the CSRF token, or use a bearer token."))
