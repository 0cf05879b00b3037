"""Gives every request its correlation id: X-Request-ID, where that is sane, and sends it back."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from deliveries import correlation

Handler = Callable[[HttpRequest], HttpResponse]


class CorrelationMiddleware:
    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        correlation_id = correlation.accepted(request.headers.get("X-Request-ID"))
        with correlation.bound(correlation_id=correlation_id):
            response = self.get_response(request)
        response.headers["X-Request-ID"] = correlation_id
        return response
