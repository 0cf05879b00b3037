"""Reading a handed-over message: JSON in, a checked message out, or a Refusal that says why not."""

import base64
import binascii
import json
import re
from typing import Any

from deliveries.sandbox.addresses import InvalidAddress, addresses_in, has_control_characters
from deliveries.sandbox.answers import Refusal

Message = dict[str, Any]

LONGEST_KEY = 256
_KEY = re.compile(r"[!-~]+")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTENT_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?: *; *[\w-]+=[\w.\"-]+)*", re.ASCII)


def read_key(header: str | None) -> str:
    """Check the Idempotency-Key header: 1 to 256 printable ASCII characters without a space."""
    if not header:
        raise Refusal(
            400, "missing_idempotency_key", "Send an Idempotency-Key header with each message."
        )
    if len(header) > LONGEST_KEY or not _KEY.fullmatch(header):
        raise Refusal(
            400,
            "invalid_idempotency_key",
            f"The Idempotency-Key must be 1 to {LONGEST_KEY} printable ASCII characters.",
        )
    return header


def read_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "invalid_json", f"The body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refusal(400, "invalid_json", "The body must be a JSON object.")
    return value


def read_message(body: bytes) -> Message:
    """Return the message with every attachment's size added; fields we do not know are kept."""
    message = read_object(body)
    _sender(message)
    recipients(message)
    _address_fields(message, "reply_to")
    if not isinstance(message.get("subject"), str):
        raise _missing("'subject' must be a string.")
    _bodies(message)
    _headers(message)
    message["attachments"] = _attachments(message.get("attachments"))
    return message


def recipients(message: Message) -> list[str]:
    """Return the bare addresses of To and Cc."""
    to = _address_fields(message, "to")
    if not to:
        raise _missing("'to' is missing: a string, an address list, or a list of strings.")
    return to + _address_fields(message, "cc")


def _missing(message: str) -> Refusal:
    return Refusal(422, "missing_field", message)


def _sender(message: Message) -> None:
    if not isinstance(message.get("from"), str) or not message["from"]:
        raise _missing("'from' must be a string with one address.")
    if len(_address_fields(message, "from")) != 1:
        raise Refusal(422, "invalid_address", "'from' must hold exactly one address.")


def _address_fields(message: Message, field: str) -> list[str]:
    value = message.get(field) or []
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _missing(f"{field!r} must be a string or a list of strings.")
    try:
        return [address for text in texts for address in addresses_in(text)]
    except InvalidAddress as error:
        raise Refusal(422, "invalid_address", f"{field!r}: {error}") from None


def _bodies(message: Message) -> None:
    for field in ("text", "html"):
        if not isinstance(message.get(field, ""), str | None):
            raise _missing(f"{field!r} must be a string.")
    if not message.get("text") and not message.get("html"):
        raise _missing("A message needs a 'text' or an 'html' body.")


def _headers(message: Message) -> None:
    headers = message.get("headers") or {}
    if not isinstance(headers, dict):
        raise _missing("'headers' must be an object of names and strings.")
    for name, value in headers.items():
        # A line break here would smuggle a header (a Bcc, say) into the e-mail.
        if not _HEADER_NAME.fullmatch(name) or not isinstance(value, str):
            raise _missing(f"The header {name!r} must have a valid name and a string as value.")
        if has_control_characters(value):
            raise _missing(f"The header {name!r} contains a control character.")


def _attachments(value: object) -> list[Message]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _bad_attachment("'attachments' must be a list.")
    return [_attachment(item, number) for number, item in enumerate(value)]


def _attachment(item: object, number: int) -> Message:
    where = f"attachments[{number}]"
    if not isinstance(item, dict):
        raise _bad_attachment(f"{where} must be an object.")
    filename = item.get("filename")
    if not isinstance(filename, str) or not filename or has_control_characters(filename):
        raise _bad_attachment(f"{where} needs a 'filename' without control characters.")
    content_type = item.get("content_type", "application/octet-stream")
    if not isinstance(content_type, str) or not _CONTENT_TYPE.fullmatch(content_type):
        raise _bad_attachment(f"{where}: {content_type!r} is not a content type.")
    return {**item, "content_type": content_type, "size": _size(item.get("content"), where)}


def _size(content: object, where: str) -> int:
    if not isinstance(content, str):
        raise _bad_attachment(f"{where} needs its 'content', in base64.")
    try:
        return len(base64.b64decode(content, validate=True))
    except (binascii.Error, ValueError):
        raise _bad_attachment(f"{where}: the 'content' is not base64.") from None


def _bad_attachment(message: str) -> Refusal:
    return Refusal(422, "invalid_attachment", message)
