"""An SMTP connection that knows how far it got, within the running exchange's time.

What a failure means depends on that alone: before the final dot the server has accepted nothing
(RFC 5321, section 4.1.1.4), and after it nobody can say.
"""

import re
import smtplib
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import Any

from django.core.mail.backends.smtp import EmailBackend

from deliveries.providers.deadline import open_socket, running_exchange
from deliveries.providers.smtp_reading import ReadsReplies

# Firewalls forget a silent connection without telling either side.
MAX_IDLE_SECONDS = 30.0


class Phase(IntEnum):
    """What was being done, in order."""

    CONNECT = 1
    # In the clear, before the server's first word and after it.
    GREETING = 2
    HELLO = 3
    TLS = 4
    LOGIN = 5
    MAIL = 6
    RCPT = 7
    DATA = 8
    CONTENT = 9
    # The final dot may have left: from here on the server may have accepted the message.
    ENDED = 10


@dataclass
class Progress:
    """How far the exchange got, and what the server said to the final dot."""

    phase: Phase = Phase.CONNECT
    refused: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    verdict: tuple[int, bytes] | None = None

    @property
    def accepted(self) -> bool:
        return self.verdict is not None and 200 <= self.verdict[0] < 300


@dataclass(frozen=True)
class Written:
    """An e-mail as it goes over the wire, and its envelope."""

    sender: str
    recipients: list[str]
    content: bytes


class Connection(ReadsReplies):
    """smtplib's, with its steps noted; `context` makes it TLS from the first byte on."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        progress: Progress,
        context: ssl.SSLContext | None = None,
        **options: Any,
    ) -> None:
        self.progress = progress
        self._tls_context = context
        progress.phase = Phase.CONNECT
        super().__init__(host, port, **options)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        # Without NODELAY the final dot, a packet of its own, would wait for an acknowledgement.
        sock = open_socket(host, port, options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)])
        try:
            running_exchange().hold(sock)
            if self._tls_context is None:
                self.progress.phase = Phase.GREETING
                return sock
            self.progress.phase = Phase.TLS
            return self._tls_context.wrap_socket(sock, server_hostname=host)
        except (OSError, ValueError):
            sock.close()
            raise

    def getreply(self) -> tuple[int, bytes]:
        reply = super().getreply()
        if self.progress.phase is Phase.GREETING:
            self.progress.phase = Phase.HELLO
        return reply

    def starttls(self, *args: Any, **options: Any) -> tuple[int, bytes]:
        self.progress.phase = Phase.TLS
        return super().starttls(*args, **options)

    def docmd(self, cmd: str, args: str = "") -> tuple[int, bytes]:
        said = super().docmd(cmd, args)
        if cmd.upper() == "STARTTLS":
            # In the clear, by whoever: it must not count as said behind the encryption.
            self.refuse_surplus()
        return said

    def login(self, *args: Any, **options: Any) -> tuple[int, bytes]:
        self.progress.phase = Phase.LOGIN
        return super().login(*args, **options)

    def mail(self, *args: Any, **options: Any) -> tuple[int, bytes]:
        self.progress.phase = Phase.MAIL
        self.progress.refused = {}
        code, reply = super().mail(*args, **options)
        self._refuse_unlikely(code)
        return code, reply

    def rcpt(self, recip: str, *args: Any, **options: Any) -> tuple[int, bytes]:
        self.progress.phase = Phase.RCPT
        code, reply = super().rcpt(recip, *args, **options)
        self._refuse_unlikely(code)
        if code not in {250, 251}:
            self.progress.refused[recip] = (code, reply)
        return code, reply

    def data(self, msg: Any) -> tuple[int, bytes]:
        """Send the message, but to nobody if one recipient was refused.

        Left to itself, smtplib sends it to the others. A retry would then reach them twice, and
        no retry would leave the refused one out.
        """
        if self.progress.refused:
            self._rset()  # type: ignore[attr-defined]
            raise smtplib.SMTPRecipientsRefused(self.progress.refused)
        self.progress.phase = Phase.DATA
        self.putcmd("data")
        code, reply = self.getreply()
        if code < 400 and code != 354:
            raise self.out_of_step("the server took our DATA for another command")
        if code != 354:
            self._rset()  # type: ignore[attr-defined]
            raise smtplib.SMTPDataError(code, reply)
        self.progress.phase = Phase.CONTENT
        self.refuse_surplus()
        self.send(re.sub(rb"(?m)^\.", b"..", msg))
        # A process that stood still meanwhile must not finish what another may have sent since.
        running_exchange().refuse_if_over()
        self.refuse_surplus()
        self.progress.phase = Phase.ENDED
        self.send(b".\r\n" if msg.endswith(b"\r\n") else b"\r\n.\r\n")
        code, reply = self.progress.verdict = self._verdict()
        return 250 if 200 <= code < 300 else code, reply

    def _verdict(self) -> tuple[int, bytes]:
        """Return the reply to the final dot; raise `OutOfStep` if it may not be that."""
        code, reply = self.getreply()
        surplus = self._received
        if surplus:
            self.close()
        # A 421 announces that the server closes the connection, whatever came before.
        alike = surplus[:1] in {b"", b"%d" % (code // 100)} or surplus.startswith(b"421")
        if code // 100 == 3 or not alike:
            raise self.out_of_step("the server's replies contradict each other")
        return code, reply

    def _refuse_unlikely(self, code: int) -> None:
        """Raise `OutOfStep` for what no server replies to MAIL or RCPT."""
        if code < 400 and code not in {250, 251, 252}:
            raise self.out_of_step("the server took our command for another")


class Transport(EmailBackend):
    """Django's SMTP backend on such a connection, which it keeps. For one thread at a time."""

    connection: Connection | None
    _partial_connection: Connection | None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.progress = Progress()
        self._last_used = 0.0

    @property
    def connection_class(self) -> Any:
        return partial(Connection, progress=self.progress)

    def hand_over(self, letter: Written) -> None:
        """Send it within the running exchange; `progress` says afterwards how far that got.

        A connection that was kept may have been closed since: where that comes out before any
        recipient was named, a new one is opened.
        """
        reused = self._begin()
        try:
            self._send_on(letter)
        except OSError as error:
            if not reused or not self._was_stale(error):
                raise
            self.drop()
            self._begin()
            self._send_on(letter)
        self._last_used = time.monotonic()

    def drop(self) -> None:
        """Close without a word: a QUIT on a connection that broke would wait for an answer."""
        for connection in (self.connection, self._partial_connection):
            if connection is not None:
                connection.close()
        self.connection = self._partial_connection = None

    def take_leave(self) -> None:
        """Say QUIT and close; a server that does not answer at once is not waited for."""
        if self.connection is not None and self.connection.sock is not None:
            with suppress(OSError):
                self.connection.sock.settimeout(0.5)
                self.connection.quit()
        self.drop()

    def _begin(self) -> bool:
        """Start anew, on the connection that is open if there is one; return whether there is."""
        self.progress = Progress()
        if self.connection is None:
            return False
        if self.connection.sock is None or time.monotonic() - self._last_used > MAX_IDLE_SECONDS:
            self.drop()
            return False
        self.connection.progress = self.progress
        running_exchange().hold(self.connection.sock)
        self.connection.sock.settimeout(running_exchange().seconds_left)
        return True

    def _send_on(self, letter: Written) -> None:
        self.open()
        if self.connection is not None:
            self.connection.sendmail(letter.sender, letter.recipients, letter.content)

    def _was_stale(self, error: OSError) -> bool:
        closing = isinstance(error, smtplib.SMTPResponseException) and error.smtp_code == 421
        lost = isinstance(error, smtplib.SMTPServerDisconnected)
        return (closing or lost) and self.progress.phase <= Phase.MAIL
