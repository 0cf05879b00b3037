"""Writing a message as an e-mail: nothing in it becomes a header or an address of its own."""

import base64
import re
from email.charset import QP, Charset
from email.errors import MessageError
from email.utils import parseaddr

from django.core.mail import EmailMultiAlternatives
from django.core.mail.message import sanitize_address

from deliveries.addresses import with_ascii_domain
from deliveries.errors import PermanentFailure
from deliveries.models import Message
from deliveries.providers import senders
from deliveries.providers.smtp_connection import Written

# Seven bits all the way: no server has to support 8BITMIME, and none has to rewrite (and so to
# invalidate the signature of) what it passes on to one that does not.
_CHARSET = Charset("utf-8")
_CHARSET.body_encoding = QP

# RFC 5322, section 3.6.8.
_HEADER_NAME = re.compile(r"[!-9;-~]+")
# Python folds a header at each of these, and two in a row would end the headers.
_BREAKS_A_LINE = re.compile("[\n\r\x0b\x0c\x1c-\x1e]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

# What Python's e-mail package raises for what it cannot write or read, besides ValueError.
_UNWRITABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError, MessageError)


class Letter(EmailMultiAlternatives):
    encoding = _CHARSET


def write(message: Message, *, message_id: str) -> Written:
    """Return the e-mail; raise `PermanentFailure` for what cannot be written as one.

    Raise `AccountProblem` for a sender whose domain is none.
    """
    senders.usable(message.from_address)
    try:
        _refuse_broken_headers(message)
        letter = _letter(message, message_id)
        if not letter.recipients():
            raise ValueError("it has no recipient")
        return Written(
            sender=_sanitized(letter.from_email),
            recipients=[_sanitized(one) for one in letter.recipients()],
            content=letter.message().as_bytes(linesep="\r\n"),  # type: ignore[call-arg]
        )
    except _UNWRITABLE as error:
        raise PermanentFailure(
            f"It cannot be written as an e-mail: {error}", by_provider=False
        ) from error


def _letter(message: Message, message_id: str) -> Letter:
    to, cc = ([_address(one) for one in some] for some in (message.to, message.cc))
    letter = Letter(
        subject=message.subject,
        body=message.text,
        from_email=_address(message.from_address),
        to=to,
        cc=cc,
        reply_to=[_address(message.reply_to)] if message.reply_to else None,
        headers={**message.headers, "Message-ID": f"<{message_id}>"},
    )
    if message.html:
        letter.attach_alternative(message.html, "text/html")
    for part in message.attachments:
        content = base64.b64decode(part["content"], validate=True)
        letter.attach(part["filename"], content, part["content_type"])
    return letter


def _refuse_broken_headers(message: Message) -> None:
    """Raise `ValueError` for what Python would write as a header more, or refuse only at times."""
    for name in message.headers:
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header")
    addresses = (message.from_address, message.reply_to, *message.to, *message.cc)
    for value in (message.subject, *addresses, *message.headers.values()):
        if _BREAKS_A_LINE.search(value):
            raise ValueError(f"{value!r} has line breaks in it")
    _refuse_broken_parts(message)


def _refuse_broken_parts(message: Message) -> None:
    for part in message.attachments:
        if part["content_type"].lower().startswith("multipart/"):
            # Written as it is, with line ends of its own.
            raise ValueError("an attachment's content_type is multipart")
        for field in ("filename", "content_type"):
            if _CONTROL.search(part[field]):
                raise ValueError(f"an attachment's {field} has control characters in it")


def _address(address: str) -> str:
    """Return the address as the server takes it; raise `ValueError` if there is no way."""
    address = with_ascii_domain(address)
    if not parseaddr(address)[1].isascii():
        # SMTPUTF8 would have to be spoken by every server on the way.
        raise ValueError(f"“{address}” has other than ASCII letters before the @")
    try:
        sanitize_address(address, "utf-8")
    except _UNWRITABLE as error:
        why = f": {error}" if isinstance(error, ValueError) else ""
        raise ValueError(f"“{address}” is no address{why}") from error
    return address


def _sanitized(address: str) -> str:
    return sanitize_address(address, str(_CHARSET))
