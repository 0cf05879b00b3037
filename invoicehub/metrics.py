"""GET /metrics: the ledger's gauges for Prometheus, and for nobody else."""

import hmac
import logging
from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from deliveries import gauges
from deliveries.deadline import database_answers

logger = logging.getLogger(__name__)

# Whoever comes through a proxy has the proxy's address, and that is mostly a private one.
_SIGNS_OF_A_PROXY = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Via")


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the gauges; 401 or 403 to whom they are not for, 503 if the database fails."""
    if refusal := _refusal(request):
        return refusal
    try:
        with database_answers():
            return HttpResponse(gauges.render(), content_type=CONTENT_TYPE_LATEST)
    except Error as error:
        logger.warning("the database does not answer", exc_info=error)
        return _plain(503, "The database does not answer.")


def _refusal(request: HttpRequest) -> HttpResponse | None:
    """With METRICS_TOKEN set it is asked of everybody; else only the network nearby may look."""
    if settings.METRICS_TOKEN:
        if _has_token(request):
            return None
        answer = _plain(401, "Send the METRICS_TOKEN as a bearer token.")
        answer["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return answer
    if _is_near(request):
        return None
    return _plain(403, "Only from this network, and past no proxy; or set a METRICS_TOKEN.")


def _has_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        token.strip().encode(), settings.METRICS_TOKEN.encode()
    )


def _is_near(request: HttpRequest) -> bool:
    if any(header in request.headers for header in _SIGNS_OF_A_PROXY):
        return False
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:  # A Unix socket has none, and a proxy at its other end.
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_private


def _plain(status: int, sentence: str) -> HttpResponse:
    return HttpResponse(f"{sentence}\n", content_type="text/plain", status=status)
