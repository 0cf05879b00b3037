"""SMTP, through Django's e-mail backend, to any mail server that takes mail for us.

SMTP knows no idempotency keys. Once the final dot has left, a lost connection leaves open whether
the server took the message: that delivery is dead, outcome unknown, and waits for a person.
"""

import base64
import smtplib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.charset import QP, Charset
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMultiAlternatives
from django.core.mail.message import sanitize_address
from django.core.mail.utils import DNS_NAME
from django.utils.functional import cached_property

from deliveries.errors import PermanentFailure, TemporaryFailure
from deliveries.models import Message
from deliveries.providers.addresses import domain_of, with_ascii_domain
from deliveries.providers.base import Receipt
from deliveries.providers.deadline import Exchange, Watchdog
from deliveries.providers.smtp_connection import Transport
from deliveries.providers.smtp_replies import sort, too_late


class SmtpProvider:
    """Hands messages to one mail server, over a connection for each that is under way at once."""

    key_lifetime = timedelta(0)

    def __init__(
        self,
        host: str,
        port: int,
        *,
        username: str = "",
        password: str = "",
        security: str = "starttls",
        domain: str,
        timeout_seconds: float,
    ) -> None:
        self._options: dict[str, Any] = {
            "host": host,
            "port": port,
            "username": username,
            "password": password,
            "use_tls": security == "starttls",
            "use_ssl": security == "tls",
            "timeout": timeout_seconds,
        }
        self._domain = domain
        self._seconds = timeout_seconds
        self._watchdog = Watchdog()
        self._idle: list[Transport] = []
        self._lock = threading.Lock()
        # Django asks for this machine's name at the first connection, which may take as long as
        # DNS likes: here no lease runs.
        DNS_NAME.get_fqdn()

    @classmethod
    def from_settings(cls) -> "SmtpProvider":
        _insist_on_a_name(settings.EMAIL_HOST)
        return cls(
            settings.EMAIL_HOST,
            settings.EMAIL_PORT,
            username=settings.EMAIL_HOST_USER,
            password=settings.EMAIL_HOST_PASSWORD,
            security=settings.EMAIL_SECURITY,
            domain=domain_of(settings.EMAIL_FROM),
            timeout_seconds=settings.DELIVERY_SEND_TIMEOUT_SECONDS,
        )

    def send(self, message: Message, *, idempotency_key: str) -> Receipt:
        message_id = f"{idempotency_key}@{self._domain}"
        letter = write(message, message_id=message_id)
        with self._borrowed() as transport, self._watchdog.limit(self._seconds) as exchange:
            self._hand_over(transport, letter, exchange)
        return Receipt(id=message_id, took_recipients=True)

    def close(self) -> None:
        """Cut off what still runs and close the connections. A later `send` opens new ones."""
        self._watchdog.close()
        with self._lock:
            idle, self._idle = self._idle, []
        for transport in idle:
            transport.take_leave()

    def _hand_over(self, transport: Transport, letter: "Letter", exchange: Exchange) -> None:
        try:
            transport.hand_over(letter)
        except (OSError, ValueError) as error:
            if exchange.cut_off or not isinstance(error, _STILL_IN_STEP):
                transport.drop()
            failure = sort(error, transport.progress)
            if isinstance(failure, TemporaryFailure) and (exchange.cut_off or exchange.is_over):
                failure = too_late(transport.progress)
            raise failure from error
        except BaseException:
            # Whatever it was, the next message must not find half of this one on the connection.
            transport.drop()
            raise

    @contextmanager
    def _borrowed(self) -> Iterator[Transport]:
        """Lend a transport that nobody else uses, the one that was used last."""
        with self._lock:
            transport = self._idle.pop() if self._idle else Transport(**self._options)
        try:
            yield transport
        finally:
            with self._lock:
                self._idle.append(transport)


def _insist_on_a_name(host: str) -> None:
    if not host:
        raise ImproperlyConfigured("EMAIL_HOST must be set: the name of the mail server.")
    # More than one colon is an IPv6 address.
    if host.count(":") == 1 or any(character in host for character in "/@[] "):
        raise ImproperlyConfigured(
            f"EMAIL_HOST must be the mail server's name alone, not {host.rpartition('@')[2]!r}: "
            "its port goes into EMAIL_PORT, a login into EMAIL_HOST_USER."
        )


# After these, smtplib has said RSET, and the connection is as good as new.
_STILL_IN_STEP = (
    smtplib.SMTPSenderRefused,
    smtplib.SMTPRecipientsRefused,
    smtplib.SMTPDataError,
)

# Seven bits all the way: no server has to support 8BITMIME, and none has to rewrite (and so to
# invalidate the signature of) what it passes on to one that does not.
_CHARSET = Charset("utf-8")
_CHARSET.body_encoding = QP


class Letter(EmailMultiAlternatives):
    """A message as Django writes it, written once."""

    encoding = _CHARSET

    @cached_property
    def written(self) -> Any:
        return super().message()

    def message(self, **_: Any) -> Any:
        return self.written


def write(message: Message, *, message_id: str) -> Letter:
    """Return the e-mail; raise `PermanentFailure` for what cannot be written as one."""
    try:
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
        letter.message()
    except ValueError as error:
        raise PermanentFailure(
            f"It cannot be written as an e-mail: {error}", by_provider=False
        ) from error
    return letter


def _address(address: str) -> str:
    """Return the address as the server takes it; raise `ValueError` if there is no way."""
    address = with_ascii_domain(address)
    if not parseaddr(address)[1].isascii():
        # SMTPUTF8 would have to be spoken by every server on the way.
        raise ValueError(f"“{address}” has other than ASCII letters before the @")
    sanitize_address(address, "utf-8")
    return address
