"""Refuses a request whose body is too large, before anything reads it."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from invoices.access import error, wants_json


class RefuseLargeBodies:
    """413 for what is declared larger than `MAX_REQUEST_BYTES`; Django caps files by no setting.

    A body that declares no length is none to Django, which then reads nothing of it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _declared_bytes(request) > settings.MAX_REQUEST_BYTES:
            return _refusal(request)
        return self.get_response(request)


def _declared_bytes(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0  # As Django takes it.


def _refusal(request: HttpRequest) -> HttpResponse:
    most = settings.MAX_REQUEST_BYTES // (1024 * 1024)
    if wants_json(request):
        return error(413, "too_large", _("At most %(most)s MB are taken.") % {"most": most})
    return render(request, "413.html", {"most": most}, status=413)
