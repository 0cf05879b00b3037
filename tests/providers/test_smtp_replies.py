"""What each reply of a mail server becomes: the table of docs/providers.md, row by row."""

import pytest

from deliveries.errors import (
    AccountProblem,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from tests.providers.conftest import ConnectSmtp, Serve, StartMail
from tests.providers.mail_server import dialogue
from tests.providers.smtp_steps import KEY, failing, send

# What the server says --------------------------------------------------------------------------

ROWS: list[tuple[str, str, type[ProviderFailure]]] = [
    # MAIL names nothing but our own address.
    ("MAIL", "550 5.7.1 Sender not allowed", AccountProblem),
    ("MAIL", "553 5.1.8 Domain of sender address does not exist", AccountProblem),
    ("MAIL", "530 5.7.0 Must issue a STARTTLS command first", AccountProblem),
    ("MAIL", "552 5.3.4 Message too big", PermanentFailure),
    ("MAIL", "554 5.3.4 Message too big", PermanentFailure),
    ("MAIL", "452 4.3.1 Insufficient system storage", TemporaryFailure),
    ("MAIL", "451 4.7.1 Too many messages from you", Throttled),
    ("MAIL", "421 4.7.0 Try again later", Throttled),
    ("MAIL", "421 4.3.2 System shutting down", TemporaryFailure),
    ("RCPT", "550 5.1.1 No such user", PermanentFailure),
    ("RCPT", "553 bad address syntax", PermanentFailure),
    ("RCPT", "552 5.2.2 Mailbox quota: message limit reached", PermanentFailure),
    ("RCPT", "554 5.7.1 <a@b.example>: Relay access denied", AccountProblem),
    ("RCPT", "535 5.7.8 Not logged in", AccountProblem),
    ("RCPT", "450 4.7.1 Greylisted, come back", TemporaryFailure),
    ("RCPT", "450 4.2.1 Mailbox busy", TemporaryFailure),
    ("RCPT", "450 4.2.1 Gets too many messages, a rate limit of theirs", TemporaryFailure),
    ("RCPT", "452 4.5.3 Too many recipients", TemporaryFailure),
    ("RCPT", "451 4.3.0 Local error", TemporaryFailure),
    ("RCPT", "450 4.7.1 Rate limit exceeded", TemporaryFailure),
    ("RCPT", "450 4.7.1 <a@b.example>: too many messages to this domain", TemporaryFailure),
    ("RCPT", "550 5.1.1 <relay@b.example>: User unknown in relay recipients", PermanentFailure),
    ("RCPT", "550 <relay@b.example> relay@b.example is unknown", PermanentFailure),
    ("RCPT", "550 5.1.6 Moved, please try relay.example", PermanentFailure),
    ("RCPT", "550 5.7.1 daily sending quota of recipient", PermanentFailure),
    ("RCPT", "553 5.1.8 Sender's address is not verified", AccountProblem),
    ("END", "451 4.3.0 <throttle@b.example> lookup failed", TemporaryFailure),
    ("RCPT", "421 4.7.28 Unusual rate of mail", Throttled),
    ("RCPT", "550 5.4.5 Daily sending quota exceeded", AccountProblem),
    ("END", "554 5.7.1 Looks like spam", PermanentFailure),
    ("END", "552 5.3.4 Message size limit exceeded", PermanentFailure),
    ("END", "451 4.7.1 Greylisted, come back", TemporaryFailure),
    ("END", "554 Message rejected: Email address is not verified.", AccountProblem),
    ("END", "451 4.3.0 Queue write error", TemporaryFailure),
    ("END", "454 Throttling failure: Maximum sending rate exceeded.", Throttled),
    ("END", "454 Throttling failure: Daily message quota exceeded.", AccountProblem),
    ("END", "421 4.3.2 Shutting down", TemporaryFailure),
]


@pytest.mark.parametrize(("verb", "reply", "meaning"), ROWS)
def test_a_reply_is_sorted(
    mail_server: StartMail,
    connect_smtp: ConnectSmtp,
    verb: str,
    reply: str,
    meaning: type[ProviderFailure],
) -> None:
    server = mail_server()
    server.inbox.replies[verb] = reply
    failure = failing(connect_smtp(server.port))
    assert type(failure) is meaning
    assert reply.partition(" ")[2] in str(failure)
    assert server.inbox.accepted == []
    # It was refused: there is nothing that might have been accepted.
    assert not getattr(failure, "may_have_accepted", False)


ODD: list[tuple[str, bytes, type[ProviderFailure]]] = [
    ("GREETING", b"554 5.7.1 Your address is blocked\r\n", AccountProblem),
    ("GREETING", b"421 4.7.0 Too many connections from you\r\n", Throttled),
    ("GREETING", b"421 4.3.2 Starting up\r\n", TemporaryFailure),
    ("GREETING", b"HTTP/1.1 400 Bad Request\r\n\r\n", TemporaryFailure),
    ("EHLO", b"550 5.7.1 Access denied\r\n", AccountProblem),
    ("DATA", b"554 5.5.1 No valid recipients\r\n", PermanentFailure),
    ("DATA", b"451 4.3.0 Not now\r\n", TemporaryFailure),
    ("END", b"nonsense\r\n", OutcomeUnknown),
    ("END", b"250 " + b"x" * 10_000 + b"\r\n", OutcomeUnknown),
    ("END", b"354 go on\r\n", OutcomeUnknown),
    ("END", b"999 what\r\n", OutcomeUnknown),
]


@pytest.mark.parametrize(("verb", "reply", "meaning"), ODD, ids=lambda value: str(value)[:30])
def test_an_odd_reply_is_sorted(
    serve: Serve, connect_smtp: ConnectSmtp, verb: str, reply: bytes, meaning: type[ProviderFailure]
) -> None:
    replies = {verb: reply, "HELO": reply} if verb == "EHLO" else {verb: reply}
    greeting = replies.pop("GREETING", b"220 mail.example\r\n")
    server = serve(dialogue(replies, greeting=greeting))
    assert type(failing(connect_smtp(server.port))) is meaning


def test_any_2xx_after_the_final_dot_is_accepted(serve: Serve, connect_smtp: ConnectSmtp) -> None:
    server = serve(dialogue({"END": b"252 2.0.0 Taken\r\n"}))
    assert send(connect_smtp(server.port)).id.startswith(KEY)


# Several recipients: all of them, or nobody ----------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "meaning"),
    [("550 5.1.1 No such user", PermanentFailure), ("450 4.2.1 Mailbox busy", TemporaryFailure)],
)
def test_if_one_recipient_is_refused_nobody_is_sent_it(
    mail_server: StartMail, connect_smtp: ConnectSmtp, reply: str, meaning: type[ProviderFailure]
) -> None:
    server = mail_server()
    server.inbox.replies["RCPT b@mamaput.example"] = reply
    provider = connect_smtp(server.port)
    failure = failing(provider, to=["a@mamaput.example", "b@mamaput.example"])
    assert type(failure) is meaning
    assert reply.partition(" ")[2] in str(failure)
    assert server.inbox.accepted == []
    # The transaction was taken back: the next message has its own recipients only.
    send(provider)
    assert [envelope.rcpt_tos for envelope in server.inbox.accepted] == [
        ["accounts@mamaput.example"]
    ]


def test_a_refusal_for_good_weighs_more_than_one_for_now(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    server.inbox.replies |= {
        "RCPT a@mamaput.example": "450 4.2.1 Mailbox busy",
        "RCPT b@mamaput.example": "550 5.1.1 No such user",
    }
    failure = failing(connect_smtp(server.port), to=["a@mamaput.example", "b@mamaput.example"])
    assert type(failure) is PermanentFailure
    assert "b@mamaput.example: 550 5.1.1 No such user" in str(failure)


@pytest.mark.parametrize(
    ("reply", "refused"),
    [
        ("550 5.1.1 No such user", {"b@mamaput.example": "the mailbox does not exist"}),
        ("550 5.2.1 Disabled", {"b@mamaput.example": "the mailbox is switched off"}),
        # What may be about this one message alone.
        ("550 No", {}),
        ("550 5.7.1 Looks like spam", {}),
        ("552 5.2.2 Full", {}),
    ],
)
def test_it_says_whose_mailbox_takes_no_email_at_all(
    mail_server: StartMail, connect_smtp: ConnectSmtp, reply: str, refused: dict[str, str]
) -> None:
    server = mail_server()
    server.inbox.replies["RCPT b@mamaput.example"] = reply
    failure = failing(connect_smtp(server.port), to=["a@mamaput.example", "b@mamaput.example"])
    assert isinstance(failure, PermanentFailure)
    assert failure.refused == refused
