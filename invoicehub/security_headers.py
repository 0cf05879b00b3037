"""What a browser may do with our pages: nothing but what they themselves bring along."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
)
# Nothing of a PDF runs as ours; a sandbox would leave some browsers' PDF viewers empty.
_PDF_POLICY = ("script-src 'none'", "base-uri 'none'")
_PERMISSIONS = ", ".join(
    f"{feature}=()"
    for feature in (
        *("camera", "display-capture", "geolocation", "microphone", "payment", "usb"),
        *("serial", "hid", "midi", "browsing-topics"),
    )
)


class SecurityHeaders:
    """Give each answer a Content-Security-Policy, unless its view has given it a narrower one.

    Stands outside XFrameOptionsMiddleware, whose header says whether our own pages may frame it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not _is_for_developers(response):
            response.headers.setdefault("Content-Security-Policy", _policy_of(response))
        response.headers.setdefault("Permissions-Policy", _PERMISSIONS)
        return response


def _is_for_developers(response: HttpResponse) -> bool:
    """Tell Django's own pages about a fault, in development: they are made of inline code."""
    return settings.DEBUG and response.status_code in {404, 500}


def _policy_of(response: HttpResponse) -> str:
    is_pdf = response.headers.get("Content-Type", "").startswith("application/pdf")
    framed_by_us = response.headers.get("X-Frame-Options", "").upper() == "SAMEORIGIN"
    ancestors = "frame-ancestors 'self'" if framed_by_us else "frame-ancestors 'none'"
    return "; ".join((*(_PDF_POLICY if is_pdf else _POLICY), ancestors))
