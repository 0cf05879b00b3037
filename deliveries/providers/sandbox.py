"""The sandbox's protocol: plain JSON over HTTP, for our own provider and for tests."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from deliveries.errors import (
    AccountProblem,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.models import Message
from deliveries.providers import retry_after
from deliveries.providers.base import Receipt
from deliveries.providers.session import (
    AddressUnusable,
    Answer,
    DeadlineSession,
    ExchangeFailed,
)

USER_AGENT = "InvoiceHub/0.1"
MAX_ID_LENGTH = 255


class SandboxProvider:
    """Speaks the sandbox's protocol to any server at `url`."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        timeout_seconds: float,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._headers = {"Content-Type": "application/json", "User-Agent": USER_AGENT}
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
        try:
            answer = self._session.post(
                body=encode(message),
                headers={**self._headers, "Idempotency-Key": idempotency_key},
            )
        except AddressUnusable as error:
            raise AccountProblem(str(error)) from error
        except ExchangeFailed as error:
            raise TemporaryFailure(str(error), may_have_accepted=error.request_begun) from error
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
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def classify(answer: Answer, *, now: datetime) -> Receipt:
    """Return the receipt of an accepted message, or raise what the answer means."""
    if 200 <= answer.status < 300:
        return _receipt(answer)
    wait = retry_after.parse(answer.headers.get("Retry-After"), now=now)
    said = _words(answer)
    match answer.status:
        case 409:
            raise _conflict(answer, said, wait)
        case 429:
            raise _too_many(answer, said, wait)
        case 401 | 402 | 403 | 407:  # 402 is about paying the provider, 407 comes from our proxy.
            summary = f"The provider refuses our account ({answer.status})"
            raise AccountProblem(f"{summary}: {said}", summary=f"{summary}.", retry_after=wait)
        case status if status in {404, 405} or 300 <= status < 400:
            raise AccountProblem(
                f"The provider's address is wrong: it answered {status} there.", retry_after=wait
            )
        case status if status in {408, 425} or status < 200 or status >= 500:
            raise TemporaryFailure(f"The provider answered {status}: {said}", retry_after=wait)
        case status:
            raise PermanentFailure(
                f"The provider refused it ({status}): {said}", by_provider=bool(_json(answer))
            )


def _conflict(answer: Answer, said: str, wait: timedelta | None) -> ProviderFailure:
    name = _name(answer)
    if (
        "in_progress" in name
        or "concurrent" in name
        or (not name and "in progress" in said.lower())
    ):
        # It is up and answers: no sign of an outage.
        return TemporaryFailure(
            "The provider is still working on an earlier attempt.",
            retry_after=wait,
            provider_down=False,
        )
    return OutcomeUnknown(
        "The provider has another message under our key, and may have accepted that one. "
        f"It says: {said}"
    )


def _too_many(answer: Answer, said: str, wait: timedelta | None) -> ProviderFailure:
    if "quota" in _name(answer):
        summary = "The provider's quota is used up"
        return AccountProblem(f"{summary}: {said}", summary=f"{summary}.", retry_after=wait)
    summary = "The provider asks us to slow down"
    return Throttled(f"{summary}: {said}", summary=f"{summary}.", retry_after=wait)


def _receipt(answer: Answer) -> Receipt:
    body = _json(answer)
    id_ = body.get("id")
    if isinstance(id_, int) and not isinstance(id_, bool):
        id_ = str(id_)
    id_ = id_.strip() if isinstance(id_, str) else ""
    # NUL and half a surrogate pair cannot even be stored.
    if not id_ or not id_.isprintable() or len(id_) > MAX_ID_LENGTH:
        # A proxy's page, an empty body: not believed. The same key finds out next time.
        raise TemporaryFailure(
            f"The provider answered {answer.status}, but without the id of an accepted message."
        )
    return Receipt(id=id_, replayed=body.get("replayed") is True)


def _json(answer: Answer) -> dict[str, Any]:
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _name(answer: Answer) -> str:
    body = _json(answer)
    error = body.get("error")
    name = error.get("name") if isinstance(error, dict) else body.get("name")
    return name if isinstance(name, str) else ""


def _words(answer: Answer) -> str:
    """Return the provider's own words, on one line and not endless."""
    body = _json(answer)
    error = body.get("error", body.get("message"))
    if isinstance(error, dict):
        error = error.get("message") or error.get("name")
    said = error if isinstance(error, str) else answer.body.decode(errors="replace")
    line = " ".join("".join(c if c.isprintable() else " " for c in said).split())
    return line[:500] or "(nothing)"
