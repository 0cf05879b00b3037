"""The sandbox's protocol: plain JSON over HTTP, for our own provider and for tests."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from deliveries.models import Delivery, Message
from deliveries.providers import answers, posting, retry_after
from deliveries.providers.base import Receipt
from deliveries.providers.session import Answer, DeadlineSession
from deliveries.reports import Dialect

_Outcome = Delivery.AfterSending

EVENTS = Dialect(
    types={
        "message.delivered": _Outcome.DELIVERED,
        "message.delayed": _Outcome.DELAYED,
        "message.bounced": _Outcome.BOUNCED,
        "message.complained": _Outcome.COMPLAINED,
        "message.failed": _Outcome.FAILED,
        "message.suppressed": _Outcome.SUPPRESSED,
        "message.opened": None,
    },
    details={
        "message.bounced": "bounce",
        "message.failed": "failed",
        "message.suppressed": "suppressed",
        "message.delayed": "delay",
    },
)


class SandboxProvider:
    """Speaks the sandbox's protocol to any server at `url`."""

    # It never forgets one; but what works here shall work with the others.
    key_lifetime = timedelta(hours=24)
    events = EVENTS

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        timeout_seconds: float,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._headers = {"Content-Type": "application/json", "User-Agent": answers.USER_AGENT}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._session = DeadlineSession(f"{url}/messages", seconds=timeout_seconds)
        self._clock = clock

    @classmethod
    def from_settings(cls) -> "SandboxProvider":
        return cls(
            settings.EMAIL_PROVIDER_URL,
            api_key=settings.EMAIL_PROVIDER_API_KEY,
            timeout_seconds=settings.DELIVERY_SEND_TIMEOUT_SECONDS,
        )

    def send(self, message: Message, *, idempotency_key: str) -> Receipt:
        headers = {**self._headers, "Idempotency-Key": idempotency_key}
        answer = posting.post(self._session, body=encode(message), headers=headers)
        return classify(answer, now=self._clock())

    def close(self) -> None:
        self._session.close()


def encode(message: Message) -> bytes:
    """Return the request's body: the same message gives the same bytes, for ever."""
    body: dict[str, Any] = {
        "from": message.from_address,
        # As in the e-mail's own header: a list of addresses in one string.
        "to": ", ".join(message.to),
        "subject": message.subject,
        "text": message.text,
        "html": message.html,
        "headers": dict(sorted(message.headers.items())),
        "attachments": [
            {name: attachment[name] for name in ("filename", "content_type", "content")}
            for attachment in message.attachments
        ],
    }
    if message.cc:
        body["cc"] = ", ".join(message.cc)
    if message.reply_to:
        body["reply_to"] = message.reply_to
    return posting.json_body(body)


def classify(answer: Answer, *, now: datetime) -> Receipt:
    """Return the receipt of an accepted message, or raise what the answer means."""
    if 200 <= answer.status < 300:
        return answers.receipt(answer)
    wait = retry_after.parse(answer.headers.get("Retry-After"), now=now)
    raise answers.by_status(answer, wait)
