"""SMTP, through Django's e-mail backend, to any mail server that takes mail for us.

SMTP knows no idempotency keys. Once the final dot has left, a lost connection leaves open whether
the server took the message: that delivery is dead, outcome unknown, and waits for a person.
"""

import smtplib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.mail.utils import DNS_NAME

from deliveries.addresses import domain_of
from deliveries.errors import (
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
)
from deliveries.models import Message
from deliveries.providers.base import Receipt
from deliveries.providers.deadline import Exchange, Watchdog
from deliveries.providers.smtp_connection import Phase, Progress, Transport, Written
from deliveries.providers.smtp_reading import OutOfStep
from deliveries.providers.smtp_replies import sort, too_late
from deliveries.providers.smtp_writing import write


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
        try:
            domain = domain_of(settings.EMAIL_FROM)
        except ValueError as error:
            raise ImproperlyConfigured(f"EMAIL_FROM cannot be used: {error}.") from None
        return cls(
            settings.EMAIL_HOST,
            settings.EMAIL_PORT,
            username=settings.EMAIL_HOST_USER,
            password=settings.EMAIL_HOST_PASSWORD,
            security=settings.EMAIL_SECURITY,
            domain=domain,
            timeout_seconds=settings.DELIVERY_SEND_TIMEOUT_SECONDS,
        )

    def send(self, message: Message, *, idempotency_key: str) -> Receipt:
        message_id = f"{idempotency_key}@{self._domain}"
        letter = write(message, message_id=message_id)
        with self._borrowed() as transport, self._watchdog.limit(self._seconds) as exchange:
            self._hand_over(transport, letter, exchange)
            if not transport.progress.accepted:
                raise PermanentFailure("The mail server was given nothing.", by_provider=False)
        return Receipt(id=message_id, took_recipients=True)

    def close(self) -> None:
        """Cut off what still runs and close the connections. A later `send` opens new ones."""
        self._watchdog.close()
        with self._lock:
            idle, self._idle = self._idle, []
        for transport in idle:
            transport.take_leave()

    def _hand_over(self, transport: Transport, letter: Written, exchange: Exchange) -> None:
        try:
            transport.hand_over(letter)
        except (OSError, ValueError) as error:
            if exchange.cut_off or not isinstance(error, _STILL_IN_STEP):
                transport.drop()
            failure = _meaning(error, transport.progress)
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


def _meaning(error: Exception, progress: Progress) -> ProviderFailure:
    if not isinstance(error, OutOfStep):
        return sort(error, progress)
    if progress.phase is Phase.ENDED:
        return OutcomeUnknown(
            "What the mail server said to the whole message cannot be understood: it may have "
            "been accepted, and SMTP cannot tell."
        )
    return TemporaryFailure(
        "The mail server's replies do not fit what it was asked.", may_have_accepted=False
    )
