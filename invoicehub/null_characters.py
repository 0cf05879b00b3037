"""Refuses NUL in what a request asks for: PostgreSQL cannot compare with it, whatever the view."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, UnreadablePostError


class RefuseNullCharacters:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Django undoes a cookie's quoting, and looks the session up with what comes out.
        request.COOKIES = {
            name: value for name, value in request.COOKIES.items() if "\0" not in value
        }
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: object, *_: object) -> None:
        if "\0" in request.path:
            raise BadRequest("A NUL character stands in the address.")
        if getattr(view, "reads_raw_body", False):
            return
        try:
            asked = (request.GET, request.POST) if request.method == "POST" else (request.GET,)
        except UnreadablePostError:
            # Who breaks off, or falls silent, in mid body is no fault of ours.
            raise BadRequest("The body ended before its end.") from None
        if any("\0" in value for values in asked for _, many in values.lists() for value in many):
            raise BadRequest("A NUL character stands in what was asked.")
