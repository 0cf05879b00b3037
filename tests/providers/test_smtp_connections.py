"""SMTP connections that break, at each phase, and that are kept."""

import base64
import socket
import threading
import time

import pytest

from deliveries.errors import (
    AccountProblem,
    OutcomeUnknown,
    TemporaryFailure,
    Throttled,
)
from deliveries.providers import smtp_connection
from deliveries.providers.deadline import Exchange
from tests.providers.conftest import ConnectSmtp, Serve, StartMail
from tests.providers.mail_server import PASSWORD, USER, dialogue
from tests.providers.raw_server import PATIENCE_SECONDS, Peer
from tests.providers.smtp_steps import failing, send

# Connections that break ------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["EHLO", "MAIL", "RCPT"])
def test_lost_before_the_message_it_is_temporary_and_was_not_accepted(
    mail_server: StartMail, connect_smtp: ConnectSmtp, phase: str
) -> None:
    server = mail_server()
    server.inbox.drop_at = phase
    provider = connect_smtp(server.port)
    failure = failing(provider)
    assert type(failure) is TemporaryFailure
    assert not failure.may_have_accepted
    server.inbox.drop_at = ""
    send(provider)
    assert len(server.inbox.accepted) == 1


@pytest.mark.parametrize("phase", ["DATA", "STARTTLS", "AUTH"])
def test_lost_in_between_it_is_temporary_and_was_not_accepted(
    serve: Serve, connect_smtp: ConnectSmtp, phase: str
) -> None:
    offers = b"250-mail.example\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n"
    server = serve(dialogue({"EHLO": offers, phase: b""}))
    security = "starttls" if phase == "STARTTLS" else "none"
    failure = failing(
        connect_smtp(server.port, security=security, username=USER, password=PASSWORD)
    )
    assert type(failure) is TemporaryFailure
    assert not failure.may_have_accepted


@pytest.mark.thorough
def test_lost_in_mid_message_it_was_not_accepted(serve: Serve, connect_smtp: ConnectSmtp) -> None:
    def script(peer: Peer) -> None:
        peer.send(b"220 mail.example\r\n")
        while (verb := peer.line()[:4]) != b"DATA":
            peer.send(b"250 mail.example\r\n" if verb != b"DATA" else b"")
        peer.send(b"354 go on\r\n")
        peer.line()
        peer.reset()

    big = base64.b64encode(b"x" * 8_000_000).decode()
    attachment = {"filename": "a.pdf", "content_type": "application/pdf", "content": big}
    failure = failing(connect_smtp(serve(script).port), attachments=[attachment])
    assert type(failure) is TemporaryFailure
    assert not failure.may_have_accepted


def test_a_bug_in_mid_exchange_leaves_nothing_on_the_connection(
    mail_server: StartMail, connect_smtp: ConnectSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(exchange: Exchange) -> None:
        raise ZeroDivisionError

    server = mail_server()
    provider = connect_smtp(server.port)
    with monkeypatch.context() as patched:
        patched.setattr(Exchange, "refuse_if_over", broken)
        with pytest.raises(ZeroDivisionError):
            send(provider)
    send(provider)
    assert (len(server.inbox.sessions), len(server.inbox.accepted)) == (2, 1)


def test_a_process_that_stood_still_does_not_finish_its_message(
    mail_server: StartMail, connect_smtp: ConnectSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def over(exchange: Exchange) -> None:
        raise TimeoutError("the time was up")

    monkeypatch.setattr(Exchange, "refuse_if_over", over)
    server = mail_server()
    failure = failing(connect_smtp(server.port))
    assert type(failure) is TemporaryFailure
    assert not failure.may_have_accepted
    assert server.inbox.accepted == []


def test_lost_after_the_final_dot_nobody_knows(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    server.inbox.drop_at = "END"
    assert type(failing(connect_smtp(server.port))) is OutcomeUnknown
    assert len(server.inbox.accepted) == 1


@pytest.mark.thorough
def test_no_answer_to_the_final_dot_in_time_and_nobody_knows(
    serve: Serve, connect_smtp: ConnectSmtp
) -> None:
    server = serve(dialogue({"END": b"250-patience\r\n"}))
    started = time.monotonic()
    assert type(failing(connect_smtp(server.port, seconds=0.3))) is OutcomeUnknown
    assert time.monotonic() - started < PATIENCE_SECONDS / 2


@pytest.mark.thorough
def test_a_server_that_drips_is_cut_off(serve: Serve, connect_smtp: ConnectSmtp) -> None:
    def script(peer: Peer) -> None:
        peer.drip((b"220-still here\r\n" for _ in range(100_000)), every=0.05)

    failure = failing(connect_smtp(serve(script).port, seconds=0.3))
    assert type(failure) is TemporaryFailure
    assert str(failure).startswith("The mail server did not answer in time")


def test_nobody_at_the_port_is_temporary(connect_smtp: ConnectSmtp) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    failure = failing(connect_smtp(port))
    assert type(failure) is TemporaryFailure
    assert (failure.may_have_accepted, failure.provider_down) == (False, True)


def test_a_name_that_can_be_none_is_an_account_problem(connect_smtp: ConnectSmtp) -> None:
    assert type(failing(connect_smtp(25, host="x" * 70))) is AccountProblem


# Keeping connections ---------------------------------------------------------------------------


def test_one_connection_serves_many_messages(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    provider = connect_smtp(server.port)
    for number in range(3):
        send(provider, key=f"delivery-{number}")
    assert (len(server.inbox.sessions), len(server.inbox.accepted)) == (1, 3)


def test_a_connection_that_the_server_closed_is_opened_anew(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    provider = connect_smtp(server.port)
    send(provider)
    server.hang_up()
    send(provider, key="delivery-2")
    assert (len(server.inbox.sessions), len(server.inbox.accepted)) == (2, 2)


def test_a_kept_connection_that_may_carry_no_more_is_opened_anew(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    provider = connect_smtp(server.port)
    send(provider)
    server.inbox.replies["MAIL"] = "421 4.7.0 Too many messages on this connection"
    assert type(failing(provider)) is Throttled
    assert len(server.inbox.sessions) == 2


def test_a_connection_that_was_silent_for_long_is_not_trusted(
    mail_server: StartMail, connect_smtp: ConnectSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = mail_server()
    provider = connect_smtp(server.port)
    send(provider)
    monkeypatch.setattr(smtp_connection, "MAX_IDLE_SECONDS", -1.0)
    send(provider)
    assert len(server.inbox.sessions) == 2


def test_hand_overs_at_once_have_a_connection_each(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    provider = connect_smtp(server.port)
    together = threading.Barrier(4)

    def work() -> None:
        for _ in range(5):
            together.wait(PATIENCE_SECONDS)
            send(provider)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.inbox.sessions) <= 4
    assert len(server.inbox.accepted) == 20
