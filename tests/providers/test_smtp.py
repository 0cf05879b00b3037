"""The adapter for SMTP against aiosmtpd, on real sockets: what arrives, encryption, login."""

import base64
from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from deliveries import providers
from deliveries.errors import (
    AccountProblem,
    PermanentFailure,
)
from tests import factories
from tests.providers.conftest import ConnectSmtp, StartMail
from tests.providers.mail_server import PASSWORD, USER
from tests.providers.raw_server import SELF_SIGNED
from tests.providers.smtp_steps import KEY, failing, send


def attachment(**values: str) -> dict[str, str]:
    return {"filename": "a", "content_type": "application/pdf", "content": "JVBERg=="} | values


def test_a_message_arrives_whole(mail_server: StartMail, connect_smtp: ConnectSmtp) -> None:
    server = mail_server()
    html, text = "<p>Grüße, ₦ ﷼ 請求書</p>", "Grüße, ₦\n.\n..\nFrom here\n" + "x" * 2_000 + "\n"
    send(
        connect_smtp(server.port),
        html=html,
        text=text,
        cc=["boss@mamaput.example"],
        reply_to="billing@mainland.example",
        subject="Rechnung für ₦",
    )
    [envelope], [message] = server.inbox.accepted, server.inbox.messages
    assert envelope.mail_from == "invoices@invoicehub.example"
    assert envelope.rcpt_tos == ["accounts@mamaput.example", "boss@mamaput.example"]
    assert message["From"] == "Mainland Supplies Ltd <invoices@invoicehub.example>"
    assert (message["To"], message["Cc"]) == ("accounts@mamaput.example", "boss@mamaput.example")
    assert message["Subject"] == "Rechnung für ₦"
    assert message["Reply-To"] == "billing@mainland.example"
    assert message["X-Correlation-ID"] == "req-41"
    plain, rich = message.get_body(["plain"]), message.get_body(["html"])
    assert plain is not None
    assert rich is not None
    assert plain.get_content().replace("\r\n", "\n") == text
    assert rich.get_content().strip() == html
    [pdf] = message.iter_attachments()
    assert (pdf.get_filename(), pdf.get_content_type()) == ("INV-0001.pdf", "application/pdf")
    assert pdf.get_content() == base64.b64decode("JVBERg==")


def test_the_message_id_is_the_deliverys_own_and_the_receipt(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    provider = connect_smtp(server.port)
    receipt = send(provider)
    assert send(provider) == receipt
    assert receipt.id == f"{KEY}@invoicehub.example"
    assert {message["Message-ID"] for message in server.inbox.messages} == {f"<{receipt.id}>"}


def test_what_goes_over_the_wire_is_ascii(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    send(
        connect_smtp(server.port),
        text="Grüße",
        html="<p>₦</p>",
        from_address=f'"{"Grüße & Söhne, " * 20}" <invoices@invoicehub.example>',
        attachments=[{"filename": "Größe.pdf", "content_type": "application/pdf", "content": ""}],
    )
    [envelope], [message] = server.inbox.accepted, server.inbox.messages
    assert isinstance(envelope.content, bytes)
    assert envelope.content.isascii()
    assert message["From"].addresses[0].display_name.startswith("Grüße & Söhne, Grüße")
    assert next(message.iter_attachments()).get_filename() == "Größe.pdf"


def test_an_international_domain_goes_as_punycode(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    send(connect_smtp(server.port), to=["info@straße.example"])
    assert server.inbox.accepted[0].rcpt_tos == ["info@xn--strae-oqa.example"]


@pytest.mark.parametrize(
    "values",
    [
        {"to": ["jörg@mamaput.example"]},
        {"to": ["a@b.example\r\nBcc: everybody@elsewhere.example"]},
        {"to": ["two words@mamaput.example and more"]},
        {"to": ["a@ex..ample–.example"]},
        {"subject": "Invoice\r\nBcc: everybody@elsewhere.example"},
        {"headers": {"X-Note": "a\nb"}},
        {"subject": "Invoice\x0b\x0bb"},
        {"headers": {"X-Note": "a\x1c\x1cb"}},
        {"from_address": '"a\x0c\x0cb" <a@b.example>'},
        {"reply_to": '"a\x1e\x1eb" <a@b.example>'},
        {"attachments": [{"filename": "a", "content_type": "application/pdf", "content": "?"}]},
        {"attachments": [{"filename": "a", "content_type": "pdf", "content": ""}]},
        {"attachments": [attachment(filename="a\r\nX-Evil: 1.pdf")]},
        {"attachments": [attachment(filename="ä\nb.pdf")]},
        {"attachments": [attachment(filename="a\x00b.pdf")]},
        {"attachments": [attachment(content_type="application/pdf\r\nX-Evil: 1")]},
        {"attachments": [attachment(content_type="application/pdf\n more")]},
        {"attachments": [attachment(content_type="Multipart/mixed")]},
        {"headers": {"X-Evil: 1\r\nX-Note": "a"}},
        {"headers": {"X Note": "a"}},
        {"headers": {"": "a"}},
        {"to": ["<>"]},
        {"to": ['"" <>']},
        {"to": ["undisclosed:;"]},
        {"to": ["(" * 5000 + "a@b.example"]},
        {"to": [""]},
        {"to": []},
    ],
    ids=str,
)
def test_what_cannot_be_written_as_an_email_is_refused_before_anything_is_sent(
    mail_server: StartMail, connect_smtp: ConnectSmtp, values: dict[str, Any]
) -> None:
    server = mail_server()
    failure = failing(connect_smtp(server.port), **values)
    assert type(failure) is PermanentFailure
    assert not failure.by_provider
    assert server.inbox.sessions == set()


# Encryption and login --------------------------------------------------------------------------


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_it_logs_in_over_an_encrypted_connection(
    mail_server: StartMail, connect_smtp: ConnectSmtp, security: str
) -> None:
    server = mail_server(tls=security, login=True)
    send(connect_smtp(server.port, security=security, username=USER, password=PASSWORD))
    [session] = {session for session in server.inbox.sessions if session.authenticated}
    assert session.ssl is not None or security == "tls"
    assert len(server.inbox.accepted) == 1


def test_without_starttls_nothing_is_said(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server()
    failure = failing(
        connect_smtp(server.port, security="starttls", username=USER, password=PASSWORD)
    )
    assert type(failure) is AccountProblem
    assert "STARTTLS" in str(failure)
    assert server.inbox.said_to_mail == []


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(
    mail_server: StartMail, connect_smtp: ConnectSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = mail_server(tls="starttls")
    monkeypatch.setenv("SSL_CERT_FILE", "/dev/null")
    failure = failing(connect_smtp(server.port, security="starttls"))
    assert type(failure) is AccountProblem
    assert "certificate" in str(failure)


def test_a_certificate_of_somebody_else_is_not_trusted(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server(tls="tls", host="127.0.0.2")
    failure = failing(connect_smtp(server.port, host="127.0.0.2", security="tls"))
    assert type(failure) is AccountProblem
    assert "IP address mismatch" in str(failure)
    assert server.inbox.sessions == set()


def test_a_wrong_password_is_an_account_problem(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server(tls="starttls", login=True)
    failure = failing(
        connect_smtp(server.port, security="starttls", username=USER, password="wrong")
    )
    assert type(failure) is AccountProblem
    assert failure.summary == "The mail server refuses our login (535)."


def test_no_login_where_one_is_needed_is_an_account_problem(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server(tls="starttls", login=True)
    failure = failing(connect_smtp(server.port, security="starttls"))
    assert type(failure) is AccountProblem
    assert "530" in str(failure)


def test_a_password_that_smtp_cannot_carry_is_an_account_problem(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    server = mail_server(tls="starttls", login=True)
    provider = connect_smtp(server.port, security="starttls", username=USER, password="pässword")
    assert type(failing(provider)) is AccountProblem


def test_it_is_made_from_the_settings(
    settings: Settings, mail_server: StartMail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
    server = mail_server(tls="starttls", login=True)
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = USER, PASSWORD
    settings.EMAIL_FROM = "invoices@grün.example"
    provider = providers.from_settings("smtp")
    receipt = provider.send(factories.make_message(), idempotency_key=KEY)
    assert receipt.id == f"{KEY}@xn--grn-ioa.example"
    assert providers.key_lifetime(provider) == timedelta(0)
    provider.close()
