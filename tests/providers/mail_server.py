"""A mail server on a real socket: aiosmtpd, with switches for what a test wants to go wrong."""

import asyncio
import email.message
import email.policy
import ssl
import threading
import warnings
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from tests.providers.raw_server import PATIENCE_SECONDS, SELF_SIGNED, Peer, Script

USER, PASSWORD = "invoicehub", "a long password"


class Inbox:
    """What arrived, and how to refuse or to break off: the handler of aiosmtpd's hooks."""

    def __init__(self) -> None:
        self.accepted: list[Envelope] = []
        self.said_to_mail: list[str] = []
        self.replies: dict[str, str] = {}
        self.drop_at = ""
        self.sessions: set[Session] = set()

    @property
    def messages(self) -> list[email.message.EmailMessage]:
        return [
            email.message_from_bytes(envelope.content or b"", policy=email.policy.default)  # type: ignore[arg-type]
            for envelope in self.accepted
        ]

    async def handle_EHLO(  # noqa: N802 - as aiosmtpd looks for them
        self, server: SMTP, session: Session, envelope: Envelope, name: str, said: list[str]
    ) -> list[str]:
        session.host_name = name
        self.sessions.add(session)
        self._drop(server, "EHLO")
        return said

    async def handle_MAIL(  # noqa: N802 - as aiosmtpd looks for them
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.said_to_mail.append(address)
        envelope.mail_from = address
        return self._reply(server, "MAIL")

    async def handle_RCPT(  # noqa: N802 - as aiosmtpd looks for them
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        whose = f"RCPT {address}"
        reply = self._reply(server, whose if whose in self.replies else "RCPT")
        if reply.startswith("250"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        reply = self.replies.get("END", "250 2.0.0 OK: queued as 4F2A")
        if reply.startswith("2"):
            self.accepted.append(envelope)
        self._drop(server, "END")
        return reply

    def _reply(self, server: SMTP, verb: str) -> str:
        self._drop(server, verb)
        return self.replies.get(verb, "250 OK")

    def _drop(self, server: SMTP, verb: str) -> None:
        if self.drop_at == verb:
            server.transport.abort()  # type: ignore[union-attr]


def authenticate(
    server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
) -> AuthResult:
    right = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=right, handled=False)


class MailServer:
    """Runs the server in a thread of its own. `tls`: "", "starttls" or "tls"."""

    def __init__(self, *, tls: str = "", login: bool = False, host: str = "127.0.0.1") -> None:
        self.inbox = Inbox()
        self._loop = asyncio.new_event_loop()
        context = _context() if tls else None
        options = {
            "hostname": "mail.example",
            "tls_context": context if tls == "starttls" else None,
            "authenticator": authenticate if login else None,
            "auth_required": login,
            "auth_require_tls": tls == "starttls",
            "loop": self._loop,
        }
        self._server = self._loop.run_until_complete(
            self._loop.create_server(
                lambda: self._session(options),
                host,
                0,
                ssl=context if tls == "tls" else None,
            )
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, name="mail-server")
        self._thread.start()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(PATIENCE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()

    def hang_up(self) -> None:
        """Close the connections that are open, as a server that restarts does."""
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result(PATIENCE_SECONDS)

    def _session(self, options: dict[str, Any]) -> SMTP:
        with warnings.catch_warnings():
            # It does not see that a connection is encrypted from its first byte on.
            warnings.filterwarnings("ignore", "Requiring AUTH while not requiring TLS")
            return SMTP(self.inbox, **options)

    async def _hang_up(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        # The sockets are closed in the loop's next round.
        await asyncio.sleep(0.01)

    async def _end(self) -> None:
        self._server.close()
        await self._hang_up()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SELF_SIGNED)
    return context


def dialogue(replies: dict[str, bytes], *, greeting: bytes = b"220 mail.example\r\n") -> Script:
    """Speak SMTP by the letter, for what aiosmtpd would not say: `replies` by verb.

    An empty reply breaks off the connection. `END` is what follows the final dot.
    """
    said = {
        "EHLO": b"250 mail.example\r\n",
        "AUTH": b"235 2.7.0 welcome\r\n",
        "DATA": b"354 go on\r\n",
        "QUIT": b"221 bye\r\n",
        **replies,
    }

    def script(peer: Peer) -> None:
        answer(peer, greeting)
        while True:
            verb = peer.line().split(b" ")[0].decode().upper()
            answer(peer, said.get(verb, b"250 OK\r\n"))
            if verb == "DATA" and said["DATA"].startswith(b"354"):
                while peer.line() != b".":
                    pass
                answer(peer, said.get("END", b"250 OK\r\n"))

    def answer(peer: Peer, reply: bytes) -> None:
        if not reply:
            peer.reset()
        peer.send(reply)

    return script
