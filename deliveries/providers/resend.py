"""Resend (https://resend.com/docs/api-reference): one POST /emails for each message.

Never its batch endpoint, which drops attachments without a word.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from deliveries.addresses import with_ascii_domain
from deliveries.errors import PermanentFailure, ProviderFailure
from deliveries.models import Delivery, Message
from deliveries.providers import answers, posting, rate_limit, retry_after, senders
from deliveries.providers.base import Receipt
from deliveries.providers.session import Answer, DeadlineSession
from deliveries.reports import KEY_TAG, Dialect

MAX_RECIPIENTS = 50
MAX_ATTACHMENT_BYTES = 40 * 1024 * 1024  # In base64, all of an e-mail's together.
# A quota comes back at midnight or with the next month; asking each half hour finds out.
QUOTA_PAUSE = timedelta(minutes=30)


_Outcome = Delivery.AfterSending

# https://resend.com/docs/webhooks/event-types; a bounce has Amazon SES's types and subtypes.
EVENTS = Dialect(
    types={
        "email.scheduled": None,
        "email.sent": None,
        "email.delivered": _Outcome.DELIVERED,
        "email.delivery_delayed": _Outcome.DELAYED,
        "email.bounced": _Outcome.BOUNCED,
        "email.complained": _Outcome.COMPLAINED,
        "email.failed": _Outcome.FAILED,
        "email.suppressed": _Outcome.SUPPRESSED,
        "email.opened": None,
        "email.clicked": None,
    },
    message_id=lambda data: data.get("email_id"),
    details={
        "email.bounced": "bounce",
        "email.failed": "failed",
        "email.suppressed": "suppressed",
        "email.delivery_delayed": "delay",
    },
)


class ResendProvider:
    """Hands messages to Resend's API at `url`."""

    key_lifetime = timedelta(hours=24)
    events = EVENTS

    def __init__(
        self,
        url: str,
        *,
        api_key: str,
        timeout_seconds: float,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.reported_rate: float | None = None
        self._headers = {
            "Authorization": f"Bearer {api_key}",
            "Content-Type": "application/json",
            # Without one, every request is answered 403.
            "User-Agent": answers.USER_AGENT,
        }
        self._session = DeadlineSession(f"{url}/emails", seconds=timeout_seconds)
        self._clock = clock

    @classmethod
    def from_settings(cls) -> "ResendProvider":
        key = settings.EMAIL_PROVIDER_API_KEY
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ImproperlyConfigured(
                "EMAIL_PROVIDER_API_KEY must be a key of Resend's, such as re_…, "
                "from https://resend.com/api-keys."
            )
        return cls(
            settings.EMAIL_PROVIDER_URL,
            api_key=key,
            timeout_seconds=settings.DELIVERY_SEND_TIMEOUT_SECONDS,
        )

    def send(self, message: Message, *, idempotency_key: str) -> Receipt:
        refuse_what_cannot_be_sent(message)
        answer = posting.post(
            self._session,
            body=encode(message, idempotency_key=idempotency_key),
            headers={**self._headers, "Idempotency-Key": idempotency_key},
        )
        if is_resends_own(answer):
            self.reported_rate = rate_limit.per_second(answer.headers) or self.reported_rate
        return classify(answer, now=self._clock())

    def close(self) -> None:
        self._session.close()


def is_resends_own(answer: Answer) -> bool:
    """Tell whether Resend says it, not a gateway between: what it accepted, an error it names."""
    accepted = 200 <= answer.status < 300 and "id" in answers.json_of(answer)
    return accepted or answers.name_of(answer) in _MEANINGS


def refuse_what_cannot_be_sent(message: Message) -> None:
    """Raise `PermanentFailure` for what Resend would refuse after all of it was uploaded."""
    if len(message.to) > MAX_RECIPIENTS or len(message.cc) > MAX_RECIPIENTS:
        raise PermanentFailure(
            f"It has more than {MAX_RECIPIENTS} recipients, the most that Resend takes.",
            by_provider=False,
        )
    if sum(len(part["content"]) for part in message.attachments) > MAX_ATTACHMENT_BYTES:
        raise PermanentFailure(
            "Its attachments are larger than 40 MB in base64, the most that Resend takes.",
            by_provider=False,
        )


def encode(message: Message, *, idempotency_key: str) -> bytes:
    """Return the request's body: the same message and key give the same bytes, for ever.

    Raise `PermanentFailure` for an address whose domain is none, and for what JSON cannot carry;
    `AccountProblem` for a sender whose domain is none.
    """
    from_ = senders.usable(message.from_address)
    try:
        to, cc = (list(map(with_ascii_domain, some)) for some in (message.to, message.cc))
        reply_to = with_ascii_domain(message.reply_to)
    except ValueError as error:
        raise PermanentFailure(f"An address cannot be used: {error}", by_provider=False) from None
    body: dict[str, Any] = {
        "from": from_,
        "to": to,
        "subject": message.subject,
        "text": message.text,
        "html": message.html,
        "headers": dict(sorted(message.headers.items())),
        "attachments": [
            {name: attachment[name] for name in ("filename", "content_type", "content")}
            for attachment in message.attachments
        ],
        # It comes back in every webhook about this e-mail.
        "tags": [{"name": KEY_TAG, "value": _tag(idempotency_key)}],
    }
    if cc:
        body["cc"] = cc
    if reply_to:
        body["reply_to"] = [reply_to]
    return posting.json_body(body)


def _tag(value: str) -> str:
    """Return the value with what no tag may hold replaced."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", value)[:256]


def classify(answer: Answer, *, now: datetime) -> Receipt:
    """Return the receipt of an accepted message, or raise what the answer means."""
    if 200 <= answer.status < 300:
        return answers.receipt(answer)
    wait = retry_after.parse(answer.headers.get("Retry-After"), now=now)
    meaning = _MEANINGS.get(answers.name_of(answer), answers.by_status)
    raise meaning(answer, wait)


def _quota_used_up(answer: Answer, wait: timedelta | None) -> ProviderFailure:
    return answers.quota_used_up(answer, wait or QUOTA_PAUSE)


def _invalid(answer: Answer, wait: timedelta | None) -> ProviderFailure:
    """Sort the one name that stands for several things, so that the status decides after all.

    A field of the message (400, 422), a domain that is not verified or an account that may write
    to its owner only (403), and a key that does not exist (401, and 400 where it is no key).
    """
    if answer.status == 400 and "api key" in answers.words_of(answer).lower():
        return answers.account_refused(answer, wait)
    return answers.by_status(answer, wait)


# By the error's name: several share a status and mean the opposite of each other.
_MEANINGS: dict[str, Callable[[Answer, timedelta | None], ProviderFailure]] = {
    # Somebody holds a lock; nothing is down.
    "concurrent_idempotent_requests": answers.still_working,
    "resource_locked": answers.still_working,
    "invalid_idempotent_request": answers.other_content,
    "rate_limit_exceeded": answers.slow_down,
    "daily_quota_exceeded": _quota_used_up,
    "monthly_quota_exceeded": _quota_used_up,
    # No message at all would go out.
    "missing_api_key": answers.account_refused,
    "invalid_api_key": answers.account_refused,
    "restricted_api_key": answers.account_refused,
    "suspended_api_key": answers.account_refused,
    "invalid_permission": answers.account_refused,
    "not_found": answers.address_wrong,
    "method_not_allowed": answers.address_wrong,
    "application_error": answers.in_trouble,
    "internal_server_error": answers.in_trouble,
    "service_unavailable": answers.in_trouble,
    # Something about this message.
    "validation_error": _invalid,
    "invalid_access": answers.refused,
    "invalid_attachment": answers.refused,
    "invalid_from_address": answers.refused,
    "invalid_idempotency_key": answers.refused,
    "invalid_parameter": answers.refused,
    "invalid_region": answers.refused,
    "missing_required_field": answers.refused,
    "missing_required_parameter": answers.refused,
    "security_error": answers.refused,
}
