"""The address at which e-mail providers tell us what became of messages."""

import logging
import time
from typing import Any, Protocol

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from deliveries import events, ledger, signatures
from deliveries.errors import DATABASE_TROUBLE

logger = logging.getLogger(__name__)

LARGEST_BODY = 256 * 1024


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Refused(Exception):
    """The request is not taken; `status` and `code` are the answer's."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@csrf_exempt
@never_cache
def email_events(request: HttpRequest) -> JsonResponse:
    """Take one event: 202 once it is kept, also when it was before; else the provider repeats it.

    No session and no token: whoever knows the secret is the provider.
    """
    try:
        event_id, body = _authentic(request)
        new = ledger.report(events.read(body, event_id=event_id))
    except events.Unreadable as error:
        return _refusal(Refused(400, "invalid_event", str(error)))
    except Refused as refused:
        return _refusal(refused)
    except DATABASE_TROUBLE:
        logger.exception("provider event not kept: the database does not answer")
        return _refusal(Refused(503, "unavailable", "Not kept. Send it again later."))
    return JsonResponse({"status": "accepted" if new else "repeated"}, status=202)


# A middleware that looked into a form here would use up the bytes that are signed.
email_events.reads_raw_body = True  # type: ignore[attr-defined]


def _authentic(request: HttpRequest) -> tuple[str, bytes]:
    """Return the event's id and its raw bytes, signed by one of our secrets; raise Refused."""
    if request.method != "POST":
        raise Refused(405, "method_not_allowed", "Use POST.")
    keys = settings.EMAIL_PROVIDER_WEBHOOK_KEYS
    if not keys:
        raise Refused(
            503, "not_configured", "Set EMAIL_PROVIDER_WEBHOOK_SECRET to take provider events."
        )
    try:
        # Before the body: whoever sends one byte a minute must not hold a thread unsigned.
        signatures.refuse_unsigned(request.headers, now_seconds=time.time())
        body = _body(request)
        event_id = signatures.verify(body, request.headers, keys, now_seconds=time.time())
    except signatures.NotAuthentic as error:
        logger.warning("provider event refused", extra={"why": str(error)})
        # One answer for all reasons: a forger need not know how near he was.
        raise Refused(401, "invalid_signature", "The signature is not valid.") from None
    return event_id, body


def _body(request: HttpRequest) -> bytes:
    """Read the raw body, but not one that is too large."""
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        raise Refused(400, "invalid_request", "The Content-Length is not a number.") from None
    if length > LARGEST_BODY:
        raise Refused(413, "too_large", f"At most {LARGEST_BODY} bytes are taken.")
    stream = _stream(request)
    try:
        # What comes without a length may still be long.
        body = b""
        while len(body) <= LARGEST_BODY and (more := stream.read(LARGEST_BODY + 1 - len(body))):
            body += more
    except Exception:  # noqa: BLE001 - each server has errors of its own for a body that is none
        raise Refused(400, "invalid_request", "The body ended before its end.") from None
    if len(body) > LARGEST_BODY:
        raise Refused(413, "too_large", f"At most {LARGEST_BODY} bytes are taken.")
    return body


def _stream(request: HttpRequest) -> Readable:
    """Return what the body is read from: a chunked one has no bytes to Django, without a length."""
    if "HTTP_TRANSFER_ENCODING" not in request.META:
        return request
    if not request.META.get("wsgi.input_terminated"):
        # Nobody would tell where it ends.
        raise Refused(411, "length_required", "Send a Content-Length: chunked is not taken here.")
    chunked: Readable = request.META["wsgi.input"]
    return chunked


def _refusal(refused: Refused) -> JsonResponse:
    answer: dict[str, Any] = {"error": {"code": refused.code, "message": str(refused)}}
    response = JsonResponse(answer, status=refused.status)
    if refused.status == 405:
        response.headers["Allow"] = "POST"
    return response
