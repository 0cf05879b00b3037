"""manage.py send_test_email: proof that the settings work, or what to do."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from pytest_django.fixtures import Settings

from deliveries.errors import (
    AccountProblem,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.management.commands import send_test_email
from deliveries.management.what_next import what_next
from deliveries.models import Message
from tests.providers.mail_server import MailServer
from tests.providers.resend_server import API_KEY, Refusal, ResendServer

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def resend(settings: Settings) -> Iterator[ResendServer]:
    server = ResendServer()
    settings.EMAIL_PROVIDER = "resend"
    settings.EMAIL_PROVIDER_URL, settings.EMAIL_PROVIDER_API_KEY = server.url, API_KEY
    yield server
    server.close()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command as a shell does; return its exit code and what it wrote."""

    def command(*arguments: str) -> tuple[int, str, str]:
        code = 0
        try:
            send_test_email.Command().run_from_argv(["manage.py", "send_test_email", *arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        written = capsys.readouterr()
        return code, written.out, written.err

    return command


def test_it_says_what_it_did_and_the_id(run: Run, resend: ResendServer) -> None:
    code, out, err = run("finance@mamaput.example")
    [(id_, sent)] = resend.emails.items()
    assert (code, err) == (0, "")
    assert sent["to"] == ["finance@mamaput.example"]
    assert f"to finance@mamaput.example, by resend at {resend.url}." in out
    assert f"Accepted under the id {id_}." in out


def test_it_does_not_tell_the_password_of_the_address(
    run: Run, resend: ResendServer, settings: Settings
) -> None:
    settings.EMAIL_PROVIDER_URL = resend.url.replace("//", "//me:pa55word@")
    _, out, err = run("finance@mamaput.example")
    assert f"by resend at {resend.url.replace('//', '//***@')}." in out
    assert "pa55word" not in out + err


def test_each_run_sends_one(run: Run, resend: ResendServer) -> None:
    run("finance@mamaput.example")
    run("finance@mamaput.example")
    assert len(resend.emails) == 2


@pytest.mark.parametrize(
    ("refusal", "said", "to_do"),
    [
        (
            Refusal(401, "invalid_api_key", "No."),
            "AccountProblem: The provider ref",
            "Look at EMAIL_PROVIDER_API_KEY and EMAIL_FROM.",
        ),
        (
            Refusal(404, "not_found", "No."),
            "AccountProblem: The provider's address is wrong",
            "Look at EMAIL_PROVIDER_URL.",
        ),
        (
            Refusal(429, "rate_limit_exceeded", "No.", headers={"Retry-After": "7"}),
            "Throttled: The provider asks",
            "Wait 7 s",
        ),
        (Refusal(422, "invalid_parameter", "No."), "PermanentFailure: The prov", "EMAIL_FROM"),
        (Refusal(409, "invalid_idempotent_request"), "OutcomeUnknown: ", "may have arrived"),
        (Refusal(503, "service_unavailable"), "TemporaryFailure: ", "Try again"),
        (Refusal(503, "service_unavailable"), "TemporaryFailure: ", "test may have arrived"),
    ],
)
def test_a_failure_is_sorted_and_says_what_to_do(
    run: Run, resend: ResendServer, refusal: Refusal, said: str, to_do: str
) -> None:
    resend.refusals.append(refusal)
    code, out, err = run("finance@mamaput.example")
    assert code == 1
    assert "Accepted" not in out
    assert said in err
    assert to_do in err
    assert API_KEY not in out + err


@pytest.mark.parametrize("address", ["", "finance", "a@b.example\nBcc: c@d", "a b@c.example"])
def test_what_is_no_address_is_not_tried(run: Run, resend: ResendServer, address: str) -> None:
    code, out, err = run(address)
    assert (code, out, resend.requests) == (2, "", [])
    assert "is no e-mail address" in err


def test_settings_that_cannot_work_are_not_tried(run: Run, settings: Settings) -> None:
    settings.EMAIL_PROVIDER, settings.EMAIL_PROVIDER_API_KEY = "resend", ""
    code, out, err = run("finance@mamaput.example")
    assert (code, out) == (2, "")
    assert "EMAIL_PROVIDER_API_KEY must be" in err


def test_it_works_by_smtp(run: Run, settings: Settings) -> None:
    server = MailServer()
    settings.EMAIL_PROVIDER, settings.EMAIL_SECURITY = "smtp", "none"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    settings.DELIVERY_KEY_LIFETIME_SECONDS = 0
    code, out, err = run("finance@mamaput.example")
    server.close()
    assert (code, err) == (0, "")
    assert f"by SMTP to 127.0.0.1:{server.port} (encryption: none)" in out
    assert server.inbox.messages[0]["To"] == "finance@mamaput.example"


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (PermanentFailure("The mail server refused it: 552 5.2.2 Full"), "it is the mailbox"),
        (PermanentFailure("The mail server refused a@b.example: 552 Full"), "it is the mailbox"),
        (TemporaryFailure("The mail server refused it for now: 451 Later"), "greylisting"),
        (TemporaryFailure("No.", may_have_accepted=False), "look at EMAIL_PROVIDER_URL"),
        (Throttled("Slow."), "does not say how long"),
        (AccountProblem("Quota."), "Mend the account at the provider"),
    ],
)
def test_what_to_do_next(failure: ProviderFailure, said: str) -> None:
    assert said in what_next(failure)


def test_a_lost_answer_may_have_been_taken_and_a_lost_connection_not() -> None:
    assert "may have arrived" in what_next(TemporaryFailure("Lost."))
    assert "may have arrived" not in what_next(TemporaryFailure("No.", may_have_accepted=False))


class Forgetful(SimpleNamespace):
    """An adapter with a fault in it."""

    @classmethod
    def from_settings(cls) -> "Forgetful":
        return cls()

    def send(self, message: Message, *, idempotency_key: str) -> None:
        if message.to == ["key@mamaput.example"]:
            raise KeyError("hunter2")

    def close(self) -> None:
        raise RuntimeError


@pytest.mark.parametrize(
    ("address", "said"),
    [("key@mamaput.example", "raised KeyError"), ("a@mamaput.example", "returned NoneType")],
)
def test_an_adapter_with_a_fault_is_a_sentence(
    run: Run, settings: Settings, address: str, said: str
) -> None:
    settings.EMAIL_PROVIDER = f"{__name__}.Forgetful"
    code, out, err = run(address)
    assert code == 1
    assert "Accepted" not in out
    assert said in err
    assert "hunter2" not in err


def test_a_login_in_the_address_is_not_shown(
    run: Run, resend: ResendServer, settings: Settings
) -> None:
    settings.EMAIL_PROVIDER_URL = resend.url.replace("://", "://me:hunter2@")
    _, out, err = run("finance@mamaput.example")
    assert f"at {resend.url.replace('://', '://***@')}." in out
    assert "hunter2" not in out + err
