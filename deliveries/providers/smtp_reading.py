"""Reading what an SMTP server says: one reply to each command, none of them endless."""

import re
import smtplib
import socket
import ssl

MAX_LINES = 100
MAX_BYTES = 64 * 1024  # Of one reply.
MAX_LINE_BYTES = 8192

# RFC 5321, section 4.2. What cannot be told from a success or a refusal is neither.
_REPLY_LINE = re.compile(rb"[2-5][0-9]{2}(?![0-9])")


class OutOfStep(smtplib.SMTPServerDisconnected):
    """What the server says is no reply, or not the one to what was asked: nobody can go on."""


class ReadsReplies(smtplib.SMTP):
    """smtplib's connection, which believes a reply only if it can be the one that was asked for.

    smtplib takes whatever comes next for the reply to the last command, and reads on for as long
    as the server continues its lines.
    """

    # What came and was not read as a reply yet.
    _received = b""

    def getreply(self) -> tuple[int, bytes]:
        """Return the next reply; raise `OutOfStep` for what is none, and close."""
        said: list[bytes] = []
        room = MAX_BYTES
        while True:
            line = self._line()
            room -= len(line)
            if room < 0 or len(said) == MAX_LINES or not _REPLY_LINE.match(line):
                raise self.out_of_step("the server's reply cannot be read")
            said.append(line[4:].strip(b" \t\r\n"))
            if line[3:4] != b"-":
                return int(line[:3]), b"\n".join(said)

    def putcmd(self, cmd: str, args: str = "") -> None:
        self.refuse_surplus()
        super().putcmd(cmd, args)

    def refuse_surplus(self) -> None:
        """Raise `OutOfStep`, and close, if the server has said more than it was asked for.

        The next reply would be taken for that of another command, and so on for every message.
        """
        if self.sock is None:
            return  # `send` says so.
        try:
            arrived = _arrived(self.sock)
        except OSError as error:
            raise self._lost(str(error)) from error
        if arrived == b"" and not self._received:
            raise self._lost("closed by the server")
        if arrived or self._received:
            raise self.out_of_step("the server spoke out of turn")

    def out_of_step(self, why: str) -> OutOfStep:
        """Close, and return what is to be raised."""
        self.close()
        return OutOfStep(why)

    def close(self) -> None:
        self._received = b""
        super().close()

    def _line(self) -> bytes:
        while (end := self._received.find(b"\n")) < 0 and len(self._received) <= MAX_LINE_BYTES:
            self._received += self._more()
        if not 0 <= end < MAX_LINE_BYTES:
            raise self.out_of_step("the server's reply cannot be read")
        line, self._received = self._received[: end + 1], self._received[end + 1 :]
        return line

    def _more(self) -> bytes:
        if self.sock is None:
            raise smtplib.SMTPServerDisconnected("not connected")
        try:
            data: bytes = self.sock.recv(MAX_LINE_BYTES)
        except OSError as error:
            raise self._lost(str(error)) from error
        if not data:
            raise self._lost("closed by the server")
        return data

    def _lost(self, why: str) -> smtplib.SMTPServerDisconnected:
        self.close()
        return smtplib.SMTPServerDisconnected(f"Connection unexpectedly closed: {why}")


def _arrived(sock: socket.socket) -> bytes | None:
    """Return a byte that is there already, b"" if the other side has left, None if none is there.

    Read it rather than ask whether the socket is readable: TLS sends records without content.
    """
    patience = sock.gettimeout()
    sock.settimeout(0)
    try:
        return sock.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return None
    finally:
        sock.settimeout(patience)
