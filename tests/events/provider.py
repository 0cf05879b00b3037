"""A provider as our webhook meets it: what it writes, how it signs."""

import json
import time
from collections.abc import Mapping
from itertools import count
from typing import Any

from django.test import Client

from deliveries import signatures

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KEY = signatures.Key.of(SECRET)
OTHER_KEY = signatures.Key.of("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
ADDRESS = "/webhooks/email"

_ids = count(1)

# As Resend words them.
DETAILS: dict[str, dict[str, Any]] = {
    "bounced": {
        "bounce": {
            "type": "Permanent",
            "subType": "General",
            "message": "smtp; 550 5.1.1 The email account that you tried to reach does not exist.",
        }
    },
    "bounced_for_now": {
        "bounce": {"type": "Transient", "subType": "MailboxFull", "message": "452 4.2.2 Full"}
    },
    "suppressed": {"suppressed": {"type": "OnAccountSuppressionList", "message": "On the list"}},
    "failed": {"failed": {"reason": "reached_daily_quota"}},
}
_TYPES = {
    "bounced_for_now": "email.bounced",
    "delayed": "email.delivery_delayed",
}


def payload(
    what: str,
    *,
    message_id: str = "msg-41",
    at: str = "2026-03-02T10:00:00.000Z",
    **data: Any,
) -> dict[str, Any]:
    return {
        "type": _TYPES.get(what, f"email.{what}"),
        "created_at": at,
        "data": {
            "email_id": message_id,
            "from": "Mainland Supplies <invoices@invoicehub.example>",
            "to": ["accounts@mamaput.example"],
            "subject": "Invoice INV-0001",
            **DETAILS.get(what, {}),
            **data,
        },
    }


def post(
    body: bytes | Mapping[str, Any],
    *,
    event_id: str = "",
    key: signatures.Key = KEY,
    ago: float = 0,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Any:
    """Post an event as the provider does; return the answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    signed = signatures.headers(
        key, raw, id_=event_id or f"evt_{next(_ids)}", timestamp=int(time.time() - ago)
    )
    return Client(raise_request_exception=False).generic(
        "POST",
        ADDRESS,
        raw,
        content_type=content_type,
        headers={**signed, **(headers or {})},
        **(extra or {}),
    )
