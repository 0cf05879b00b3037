"""SMTP servers that say too much, without end, or at the wrong time: never taken for a success."""

import resource
import select
import threading
import time

import pytest

from deliveries.errors import OutcomeUnknown, ProviderFailure, TemporaryFailure
from deliveries.providers.deadline import Exchange
from deliveries.providers.smtp_reading import MAX_BYTES, MAX_LINES
from tests.providers.conftest import ConnectSmtp, Serve
from tests.providers.mail_server import dialogue
from tests.providers.raw_server import PATIENCE_SECONDS, Peer, Script
from tests.providers.smtp_steps import KEY, failing, send

ACCEPTED = b"250 2.0.0 queued\r\n"


def was_not_accepted(failure: ProviderFailure) -> bool:
    return type(failure) is TemporaryFailure and not failure.may_have_accepted


# Replies without end ---------------------------------------------------------------------------


def endless(verb: str, piece: bytes) -> Script:
    """Reply to the verb for as long as somebody reads."""

    def script(peer: Peer) -> None:
        peer.send(b"220 mail.example\r\n" if verb != "GREETING" else b"")
        said = "GREETING"
        while said != verb:
            said = peer.line().split(b" ")[0].decode().upper()
            if said == "DATA" and verb == "END":
                peer.send(b"354 go on\r\n")
                while peer.line() != b".":
                    pass
                said = "END"
            elif said != verb:
                peer.send(b"250 OK\r\n")
        while True:
            peer.send(piece)

    return script


@pytest.mark.parametrize("piece", [b"250-on\r\n" * 1000, b"2" * 65536], ids=["lines", "line"])
@pytest.mark.parametrize("verb", ["GREETING", "EHLO", "MAIL", "RCPT", "DATA", "END"])
def test_a_reply_without_end_is_given_up(
    serve: Serve, connect_smtp: ConnectSmtp, verb: str, piece: bytes
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    failure = failing(connect_smtp(serve(endless(verb, piece)).port))
    assert time.monotonic() - started < PATIENCE_SECONDS / 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    if verb == "END":
        assert type(failure) is OutcomeUnknown
    else:
        assert was_not_accepted(failure)


@pytest.mark.parametrize(
    ("lines", "length", "taken"),
    [(MAX_LINES, 10, True), (MAX_LINES + 1, 10, False), (20, MAX_BYTES // 20 + 1, False)],
)
def test_long_replies_are_read_up_to_a_limit(
    serve: Serve, connect_smtp: ConnectSmtp, lines: int, length: int, taken: bool
) -> None:
    line = b"250-" + b"x" * (length - 6) + b"\r\n"
    reply = line * (lines - 1) + line.replace(b"-", b" ")
    provider = connect_smtp(serve(dialogue({"EHLO": reply})).port)
    if taken:
        assert send(provider).id.startswith(KEY)
    else:
        assert was_not_accepted(failing(provider))


# Out of step -----------------------------------------------------------------------------------


def test_a_success_before_the_message_is_not_the_reply_to_it(
    serve: Serve, connect_smtp: ConnectSmtp
) -> None:
    server = serve(dialogue({"DATA": b"354 go on\r\n" + ACCEPTED, "END": b"554 5.7.1 no\r\n"}))
    provider = connect_smtp(server.port)
    assert was_not_accepted(failing(provider))
    assert was_not_accepted(failing(provider))
    assert server.connections == 2


def test_a_success_in_mid_message_is_not_the_reply_to_it(
    serve: Serve, connect_smtp: ConnectSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = threading.Event()

    def script(peer: Peer) -> None:
        peer.send(b"220 mail.example\r\n")
        while peer.line()[:4].lower() != b"data":
            peer.send(b"250 OK\r\n")
        peer.send(b"354 go on\r\n")
        peer.line()
        peer.send(ACCEPTED)
        spoken.set()
        while peer.line() != b".":
            pass
        peer.send(b"554 5.7.1 Rejected\r\n")
        peer.wait_until_it_leaves()

    # Called between the content and the final dot.
    monkeypatch.setattr(Exchange, "refuse_if_over", lambda _: spoken.wait(PATIENCE_SECONDS))
    assert was_not_accepted(failing(connect_smtp(serve(script).port)))


@pytest.mark.parametrize(
    "surplus",
    [ACCEPTED, ACCEPTED * 2 + b"354 go on\r\n" + ACCEPTED, b"421 4.3.2 Closing\r\n", b"2"],
)
def test_what_follows_an_acceptance_is_not_the_reply_to_the_next_message(
    serve: Serve, connect_smtp: ConnectSmtp, surplus: bytes
) -> None:
    server = serve(dialogue({"END": ACCEPTED + surplus}))
    provider = connect_smtp(server.port)
    for number in range(3):
        assert send(provider, key=f"delivery-{number}").id.startswith("delivery-")
    assert server.connections == 3


def test_what_comes_between_two_messages_is_not_the_reply_to_the_next_one(
    serve: Serve, connect_smtp: ConnectSmtp
) -> None:
    go_on = threading.Event()

    def script(peer: Peer) -> None:
        really_send = peer.send

        def send_more(*pieces: bytes) -> None:
            really_send(*pieces)
            if pieces == (ACCEPTED,):
                go_on.wait(PATIENCE_SECONDS)
                really_send(ACCEPTED * 5)

        peer.send = send_more  # type: ignore[method-assign]
        dialogue({"END": ACCEPTED})(peer)

    server = serve(script)
    provider = connect_smtp(server.port)
    send(provider)
    go_on.set()
    [kept] = provider._idle
    assert kept.connection is not None
    assert kept.connection.sock is not None
    select.select([kept.connection.sock], [], [], PATIENCE_SECONDS)
    send(provider)
    assert server.connections == 2


@pytest.mark.parametrize(
    "verdict",
    [ACCEPTED + b"554 5.7.1 Rejected\r\n", b"554 5.7.1 Rejected\r\n" + ACCEPTED, b"354 more\r\n"],
)
def test_two_verdicts_that_contradict_each_other_tell_nothing(
    serve: Serve, connect_smtp: ConnectSmtp, verdict: bytes
) -> None:
    server = serve(dialogue({"END": verdict}))
    provider = connect_smtp(server.port)
    assert type(failing(provider)) is OutcomeUnknown
    assert type(failing(provider)) is OutcomeUnknown
    assert server.connections == 2


@pytest.mark.parametrize(
    ("verb", "reply"),
    [
        ("DATA", b"250 OK\r\n"),
        ("MAIL", b"354 go on\r\n"),
        ("RCPT", b"354 go on\r\n"),
        ("RCPT", b"abc\r\n"),
        ("RCPT", b"199 what\r\n"),
        ("RCPT", b"600 what\r\n"),
        ("RCPT", b"2500 OK\r\n"),
        ("RCPT", b"\r\n"),
        ("RCPT", b"250 OK\r\n250 OK\r\n"),
    ],
)
def test_a_reply_to_something_else_ends_the_connection(
    serve: Serve, connect_smtp: ConnectSmtp, verb: str, reply: bytes
) -> None:
    server = serve(dialogue({verb: reply}))
    provider = connect_smtp(server.port)
    for _ in range(2):
        failure = failing(provider)
        assert was_not_accepted(failure)
        assert str(failure) == "The mail server's replies do not fit what it was asked."
    assert server.connections == 2


def test_what_is_said_in_the_clear_does_not_count_behind_the_encryption(
    serve: Serve, connect_smtp: ConnectSmtp
) -> None:
    offers = b"250-mail.example\r\n250 STARTTLS\r\n"
    server = serve(dialogue({"EHLO": offers, "STARTTLS": b"220 go\r\n" + ACCEPTED * 9}))
    failure = failing(connect_smtp(server.port, security="starttls"))
    assert was_not_accepted(failure)
    assert str(failure) == "The mail server's replies do not fit what it was asked."
