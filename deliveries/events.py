"""Reading a provider's event: whichever provider's, into a `Report` of ours."""

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from deliveries import providers
from deliveries.ledger import sql
from deliveries.models import Delivery, ProviderEvent
from deliveries.reasons import reason_of
from deliveries.reports import KEY_TAG, Dialect, Report

# The tags in which a provider gives the delivery's idempotency key back: Resend's adapter writes
# the first, the sandbox the second.
TAGS = (KEY_TAG, "delivery")

logger = logging.getLogger(__name__)

_Outcome = Delivery.AfterSending
_State = ProviderEvent.State

# What an event says of the message itself is not ours to keep twice.
_LEFT_OUT = frozenset(
    {"subject", "html", "text", "body", "content", "attachments", "headers", "raw"}
)
_DEEPEST = 8
_MOST_ITEMS = 50
_LONGEST_TEXT = 1_000
_LONGEST_ID = 255


class Unreadable(ValueError):
    """The body is no event: not JSON, or not an object with a type."""


def dialects() -> list[Dialect]:
    """Return what is understood: the configured adapter's words first, then those that ship.

    Not the configured one's alone: events of two providers come while one replaces the other.
    """
    return providers.dialects(settings.EMAIL_PROVIDER)


def read(body: bytes, *, event_id: str) -> Report:
    """Return what an authentic body says; raise Unreadable. An unknown type is a report too."""
    payload = _json(body)
    type_ = payload.get("type")
    if not isinstance(type_, str) or not type_.strip():
        raise Unreadable("The event has no type.")
    data = payload.get("data")
    data = data if isinstance(data, dict) else {}
    report = Report(
        event_id=event_id,
        type=_text(type_)[:100],
        tag=_tag(data),
        # Standard Webhooks calls it so; Resend and the sandbox have a name of their own.
        at=_moment(payload.get("created_at")) or _moment(payload.get("timestamp")),
        payload=_kept(payload),
    )
    dialect = next((each for each in dialects() if type_ in each.types), None)
    if dialect is None:
        return replace(report, provider_message_id=_any_id(data), shelf=_State.UNKNOWN_TYPE)
    return _in_dialect(dialect, type_, data, report)


def _in_dialect(dialect: Dialect, type_: str, data: dict[str, Any], report: Report) -> Report:
    message_id = _message_id(dialect, data)
    word = dialect.types[type_]
    if word is None:
        return replace(report, provider_message_id=message_id, shelf=_State.NO_EFFECT)
    details = data.get(dialect.details.get(type_, ""))
    details = details if isinstance(details, dict) else {}
    outcome = _narrowed(_Outcome(word), details)
    return replace(
        report,
        provider_message_id=message_id,
        outcome=outcome,
        reason=reason_of(outcome, details),
        address=_only_address(data.get("to")),
        # Without either it could wait for ever: no delivery will ever be found to be its own.
        shelf=report.shelf if message_id or report.tag else _State.NO_EFFECT,
    )


def _message_id(dialect: Dialect, data: dict[str, Any]) -> str:
    try:
        return _id(dialect.message_id(data))
    except Exception:
        # An adapter's function that expects more than came: the event is kept all the same.
        logger.exception("an adapter cannot tell whose an event is")
        return ""


def _id(value: object) -> str:
    """Return a message's id; some providers count them."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return _text(value)[:_LONGEST_ID]


def _any_id(data: Mapping[str, Any]) -> str:
    """Return what is likely the message's id, for whoever looks at an event of unknown type."""
    return _text(data.get("email_id") or data.get("message_id") or data.get("id"))[:_LONGEST_ID]


def _narrowed(outcome: _Outcome, details: Mapping[str, Any]) -> _Outcome:
    """Tell what came back for now from what came back for good, and both from what never left."""
    if outcome is not _Outcome.BOUNCED:
        return outcome
    if "suppress" in _text(details.get("subType")).lower():
        return _Outcome.SUPPRESSED
    # Permanent, or Undetermined: the address is in doubt, and a person should look at it.
    lasting = _text(details.get("type")).lower() not in {"transient", "temporary", "soft"}
    return _Outcome.BOUNCED if lasting else _Outcome.BOUNCED_FOR_NOW


def _json(body: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Unreadable("The body is not JSON.") from None
    if not isinstance(payload, dict):
        raise Unreadable("The body is not a JSON object.")
    return payload


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _tag(data: Mapping[str, Any]) -> str:
    """Return our own tag: tags are an object, or a list of names and values."""
    tags = data.get("tags")
    if isinstance(tags, list):
        tags = {
            each["name"]: each.get("value")
            for each in tags
            if isinstance(each, dict) and isinstance(each.get("name"), str)
        }
    if not isinstance(tags, dict):
        return ""
    return next((key for name in TAGS if (key := _text(tags.get(name))[:64])), "")


def _only_address(to: object) -> str:
    """Return the recipient if there is just one: of several, nobody says whose it was."""
    match to:
        case str() | [str()]:
            return _text(to if isinstance(to, str) else to[0])[:320]
        case _:
            return ""


_FRACTION = re.compile(r"(\.\d{6})\d+")


def _moment(value: object) -> datetime | None:
    """Read an ISO 8601 time, of nanoseconds too; None for anything else."""
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        moment = datetime.fromisoformat(_FRACTION.sub(r"\1", value.strip()))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year >= 2000 else None


def _text(value: object) -> str:
    """Return a text as one printable line; empty for anything else."""
    if not isinstance(value, str):
        return ""
    line = "".join(c if c.isprintable() else " " for c in sql.storable(value[:_LONGEST_TEXT]))
    return " ".join(line.split())


def _kept(payload: dict[str, Any]) -> dict[str, object]:
    """Return what is kept of the payload: no bodies, nothing endless, all of it storable."""
    kept = _shortened(payload, _DEEPEST)
    return kept if isinstance(kept, dict) else {}


def _shortened(value: object, depth: int) -> object:
    if isinstance(value, dict) and depth:
        return {
            sql.storable(str(key)[:100]): _shortened(each, depth - 1)
            for key, each in list(value.items())[:_MOST_ITEMS]
            if str(key).lower() not in _LEFT_OUT
        }
    if isinstance(value, list) and depth:
        return [_shortened(each, depth - 1) for each in value[:_MOST_ITEMS]]
    return _plain(value)


def _plain(value: object) -> object:
    """Return a value that is no object or list as JSON that PostgreSQL can hold."""
    match value:
        case str():
            return sql.storable(value[:_LONGEST_TEXT])
        case None | bool():
            return value
        # Beyond these, jsonb refuses a number, or takes pages for it.
        case int() | float() if abs(value) < 10**18:
            return value
        case int() | float():
            return str(value)[:100]
        case _:
            return "…"
