"""What an SMTP failure means: sorted by how far the exchange got, then by the server's reply.

Replies are those of RFC 5321, section 4.2, with the enhanced codes of RFC 3463 (`5.7.1`).
"""

import re
import smtplib
import ssl
from dataclasses import dataclass

from deliveries.errors import (
    AccountProblem,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.providers import unreached
from deliveries.providers.answers import one_line
from deliveries.providers.smtp_connection import Phase, Progress

_ENHANCED = re.compile(r"([245])\.(\d{1,3})\.(\d{1,3})\b", re.ASCII)
# Authentication required, refused, too weak, or only over an encrypted connection (RFC 4954).
_LOGIN_CODES = {530, 534, 535, 538}
_LOGIN = ("EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD")
# Words that servers use beside codes which say less. Each comes from a server's own text.
_TOO_FAST = re.compile(
    r"throttl|too many (concurrent|connections|logins?|e?-?mails?|messages|requests)"
    r"|rate.?limit|sending rate|rate exceeded|rate of mail|slow down",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"(daily|hourly|sending)( \w+)? (quota|limit)(?! of rec)", re.IGNORECASE)
# “Relay access denied”, “address is not verified”: no message of ours would pass.
_ADDRESSES = re.compile(r"<[^>]*>|\S*@\S*")
_NOT_FOR_US = re.compile(r"\brelay|not verified|not authori[sz]ed to send", re.IGNORECASE)


# What says that a mailbox will take no e-mail whatever; a bare 550 may be about this one alone.
_GONE = {
    "5.1.1": "the mailbox does not exist",
    "5.1.2": "the domain does not exist",
    "5.1.6": "the mailbox has moved, and nobody says where to",
    "5.1.10": "the domain takes no e-mail",
    "5.2.1": "the mailbox is switched off",
}


@dataclass(frozen=True)
class Reply:
    """A server's reply to one command."""

    code: int
    enhanced: str
    words: str

    @classmethod
    def read(cls, code: int, raw: bytes | str) -> "Reply":
        text = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
        found = _ENHANCED.match(text.strip())
        return cls(code, found[0] if found else "", one_line(text))

    @property
    def meaning(self) -> str:
        """Return the words without addresses, which are the customer's and mean nothing."""
        return _ADDRESSES.sub("", self.words)

    @property
    def is_about_a_recipient(self) -> bool:
        """Tell by the enhanced code: x.1.x an address, but for the sender's; x.2.x a mailbox."""
        return self.subject == "2" or (self.subject == "1" and self.enhanced[4:] not in {"7", "8"})

    @property
    def said(self) -> str:
        return f"{self.code} {self.words}"

    @property
    def subject(self) -> str:
        """Return the enhanced code's subject: 1 address, 2 mailbox, 3 system, 7 policy, …"""
        return self.enhanced.split(".")[1] if self.enhanced else ""


def sort(error: Exception, progress: Progress) -> ProviderFailure:
    """Return what the failure means for the delivery."""
    phase = progress.phase
    if progress.verdict is not None and 400 <= progress.verdict[0] < 600:
        return _of_reply(Reply.read(*progress.verdict), phase)
    if phase is Phase.ENDED:
        return OutcomeUnknown(
            "The connection to the mail server was lost after the whole message had been sent, "
            "and before it was confirmed: it may have been accepted, and SMTP cannot tell."
        )
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return _of_recipients(error.recipients)
    if isinstance(error, smtplib.SMTPResponseException) and 400 <= error.smtp_code < 600:
        return _of_reply(Reply.read(error.smtp_code, error.smtp_error), phase)
    return _of_connection(error, phase)


def too_late(progress: Progress) -> TemporaryFailure:
    """Return what it means that the time was up, before the final dot."""
    words = "The mail server did not answer in time."
    if progress.phase is Phase.GREETING:
        words = f"{words[:-1]}: its greeting is missing. {_MAYBE_TLS}"
    return TemporaryFailure(words, may_have_accepted=False)


# A server on such a port waits for the client to begin.
_MAYBE_TLS = "If that port (EMAIL_PORT) is for TLS, as 465 is, EMAIL_SECURITY must be tls."
_MAYBE_PLAIN = "If that port (EMAIL_PORT) begins in the clear, as 587, EMAIL_SECURITY is starttls."


def _of_reply(reply: Reply, phase: Phase) -> ProviderFailure:
    if reply.code in _LOGIN_CODES or (phase is Phase.LOGIN and reply.code >= 500):
        return _account("The mail server refuses our login", reply, *_LOGIN)
    if _is_for_the_account(reply, phase):
        return _account("The mail server refuses to send for us", reply, "EMAIL_FROM", *_LOGIN)
    if reply.code < 500:
        return _of_4xx(reply, phase)
    if phase < Phase.MAIL:
        return _account("The mail server refuses to talk to us", reply, "EMAIL_HOST")
    # MAIL names nothing but our own address and the message's size.
    too_big = reply.code == 552 or reply.enhanced == "5.3.4"
    if phase is Phase.MAIL and not too_big:
        return _account("The mail server refuses our sender's address", reply, "EMAIL_FROM")
    return PermanentFailure(f"The mail server refused it: {reply.said}", by_provider=False)


def _is_for_the_account(reply: Reply, phase: Phase) -> bool:
    # The recipient's quota is none of ours, nor where their mail is relayed to.
    if reply.is_about_a_recipient:
        return False
    if reply.enhanced == "5.4.5" or _QUOTA.search(reply.meaning):
        return True
    return reply.code >= 500 and phase >= Phase.RCPT and bool(_NOT_FOR_US.search(reply.meaning))


def _of_4xx(reply: Reply, phase: Phase) -> ProviderFailure:
    # What is said to one recipient is about that one: the others' messages need not wait.
    for_all = phase is not Phase.RCPT or reply.code == 421
    too_fast = for_all and not reply.is_about_a_recipient and bool(_TOO_FAST.search(reply.meaning))
    # Once there is a recipient, 4.7.1 is greylisting as often as not, and this message's to wait.
    about_us = reply.subject == "7" and (phase <= Phase.MAIL or reply.code == 421)
    if too_fast or about_us:
        summary = "The mail server asks us to slow down"
        return Throttled(f"{summary}: {reply.said}", summary=f"{summary}.")
    answers_well = phase >= Phase.RCPT and reply.code != 421 and reply.subject != "3"
    return TemporaryFailure(
        f"The mail server refused it for now: {reply.said}",
        may_have_accepted=False,
        provider_down=not answers_well,
    )


_GRAVEST = [AccountProblem, PermanentFailure, Throttled, TemporaryFailure]


def _of_recipients(refused: dict[str, tuple[int, bytes]]) -> ProviderFailure:
    """Return the gravest of what was said to the recipients; nobody was sent the message."""
    replies = {who: Reply.read(*reply) for who, reply in refused.items()}
    found = [_of_reply(reply, Phase.RCPT) for reply in replies.values()]
    failure = min(found, key=lambda failure: _GRAVEST.index(type(failure)))
    if not isinstance(failure, PermanentFailure):
        return failure
    each = "; ".join(f"{who}: {reply.said}" for who, reply in replies.items())
    gone = {who: _GONE[reply.enhanced] for who, reply in replies.items() if reply.enhanced in _GONE}
    return PermanentFailure(
        f"The mail server refused {one_line(each)}", by_provider=False, refused=gone
    )


def _of_connection(error: Exception, phase: Phase) -> ProviderFailure:
    if isinstance(error, ssl.SSLCertVerificationError):
        words = f"The mail server's certificate is not to be trusted: {error.verify_message}"
        return AccountProblem(one_line(words), look_at=("EMAIL_HOST", "SSL_CERT_FILE"))
    if isinstance(error, smtplib.SMTPNotSupportedError) and phase is Phase.TLS:
        return AccountProblem(
            "The mail server offers no encryption (STARTTLS).",
            look_at=("EMAIL_SECURITY", "EMAIL_PORT"),
        )
    if isinstance(error, UnicodeError) and phase is Phase.CONNECT:
        return AccountProblem(
            "The mail server's name (EMAIL_HOST) cannot be used.", look_at=("EMAIL_HOST",)
        )
    lost = isinstance(error, smtplib.SMTPServerDisconnected | TimeoutError)
    if phase is Phase.LOGIN and not lost:
        # No way to log in that both know, or a password that SMTP cannot carry.
        return AccountProblem("The mail server offers no login that we can use.", look_at=_LOGIN)
    return TemporaryFailure(_lost(error, phase), may_have_accepted=False)


def _lost(error: Exception, phase: Phase) -> str:
    if phase is Phase.CONNECT:
        words = unreached.why(error)
        return f"The mail server could not be reached{f': {words}' if words else ''}."
    if phase is Phase.GREETING:
        return f"The mail server broke off the connection before its first word. {_MAYBE_TLS}"
    if phase is Phase.TLS and unreached.speaks_no_tls(error):
        return f"The mail server speaks no TLS there. {_MAYBE_PLAIN}"
    return "The mail server broke off the connection."


def _account(summary: str, reply: Reply, *look_at: str) -> AccountProblem:
    return AccountProblem(
        f"{summary}: {reply.said}", summary=f"{summary} ({reply.code}).", look_at=look_at
    )
