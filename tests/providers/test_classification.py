"""What each answer of the provider becomes: the table of docs/architecture.md, row by row."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from deliveries.errors import (
    AccountProblem,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.providers import Receipt
from deliveries.providers.sandbox import SandboxProvider
from tests import factories
from tests.providers.conftest import Connect, Serve
from tests.providers.raw_server import answer, answering, refused

NOW = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def send(provider: SandboxProvider) -> Receipt:
    return provider.send(factories.make_message(), idempotency_key="delivery-1")


@pytest.fixture
def said(serve: Serve, connect: Connect) -> Any:
    """Send a message to a provider that answers so; return the receipt or the failure."""

    def exchange(*answers: bytes) -> Receipt | ProviderFailure:
        provider = connect(serve(answering(*answers)).url)
        try:
            return send(provider)
        except ProviderFailure as failure:
            return failure

    return exchange


def ok(body: object) -> bytes:
    return answer(200, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("given", "receipt"),
    [
        (ok({"id": "msg_1"}), Receipt(id="msg_1")),
        (ok({"id": "msg_1", "replayed": True}), Receipt(id="msg_1", replayed=True)),
        (ok({"id": "msg_1", "replayed": "yes"}), Receipt(id="msg_1")),
        (ok({"id": 4711}), Receipt(id="4711")),
        (ok({"id": " msg_1\n"}), Receipt(id="msg_1")),
        (ok({"id": "x" * 255}), Receipt(id="x" * 255)),
        (answer(201, b'{"id": "msg_1"}'), Receipt(id="msg_1")),
        (answer(202, b'\xef\xbb\xbf{"id": "\\u00fc"}'), Receipt(id="ü")),
    ],
    ids=str,
)
def test_a_2xx_with_an_id_is_a_receipt(said: Any, given: bytes, receipt: Receipt) -> None:
    assert said(given) == receipt


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><title>Please log in to the network</title>",
        b'{"id": "msg',
        b'{"ok": true}',
        b'["msg_1"]',
        b'"msg_1"',
        b'{"id": null}',
        b'{"id": true}',
        b'{"id": 1.5}',
        b'{"id": {"id": "msg_1"}}',
        b'{"id": ""}',
        b'{"id": "  "}',
        b'{"id": "' + b"x" * 256 + b'"}',
        b'{"id": "' + b"x" * 10_000 + b'"}',
        b'{"id": ' + b"9" * 5_000 + b"}",
        b'{"id": "msg\\u0000_1"}',
        b'{"id": "msg\\n_1"}',
        # Half a character: neither UTF-8 nor PostgreSQL can write it down.
        b'{"id": "msg_\\ud800"}',
        b'{"id": "msg_1", "padding": "' + b"x" * 70_000 + b'"}',
        b"[" * 20_000,
        b"\xff\xfe\x00",
    ],
    ids=lambda body: repr(body[:30]),
)
def test_a_2xx_without_a_usable_id_is_not_believed(said: Any, body: bytes) -> None:
    failure = said(answer(200, body))
    assert type(failure) is TemporaryFailure
    assert failure.may_have_accepted


def test_a_204_is_not_believed(said: Any) -> None:
    assert type(said(b"HTTP/1.1 204 No Content\r\n\r\n")) is TemporaryFailure


@pytest.mark.parametrize("status", [408, 425, 500, 501, 502, 503, 504, 507, 599, 999])
def test_a_server_error_is_temporary_and_may_have_been_accepted(said: Any, status: int) -> None:
    failure = said(refused(status, "unavailable", Retry_After="17"))
    assert type(failure) is TemporaryFailure
    assert failure.may_have_accepted
    assert failure.provider_down
    assert failure.retry_after == timedelta(seconds=17)
    assert str(failure) == f"The provider answered {status}: Because."


@pytest.mark.parametrize("status", [400, 410, 411, 413, 414, 415, 418, 422, 431, 451])
def test_any_other_4xx_is_permanent_in_the_providers_words(said: Any, status: int) -> None:
    failure = said(refused(status, "invalid_address", "ann@@example: no such\r\naddress"))
    assert type(failure) is PermanentFailure
    assert str(failure) == f"The provider refused it ({status}): ann@@example: no such address"


@pytest.mark.parametrize("status", [401, 402, 403, 407])
def test_a_refused_account_is_an_account_problem(said: Any, status: int) -> None:
    failure = said(refused(status, "invalid_api_key", Retry_After="90"))
    assert type(failure) is AccountProblem
    assert failure.retry_after == timedelta(seconds=90)


@pytest.mark.parametrize("status", [404, 405])
def test_a_wrong_address_of_the_provider_is_an_account_problem(said: Any, status: int) -> None:
    assert type(said(answer(status, b"<h1>Not here</h1>"))) is AccountProblem


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_a_redirect_is_an_account_problem_and_is_not_followed(
    serve: Serve, connect: Connect, status: int
) -> None:
    elsewhere = serve(answering(ok({"id": "msg_1"})))
    server = serve(answering(answer(status, Location=f"{elsewhere.url}/messages")))
    with pytest.raises(AccountProblem):
        send(connect(server.url))
    assert (len(server.requests), elsewhere.connections) == (1, 0)


@pytest.mark.parametrize(
    "given",
    [
        refused(409, "in_progress"),
        refused(409, "", "The original request is still in progress."),
        answer(409, b'{"name": "request_in_progress"}'),
    ],
    ids=["by name", "by words", "by top-level name"],
)
def test_a_409_in_progress_is_temporary_and_no_sign_of_an_outage(said: Any, given: bytes) -> None:
    failure = said(given)
    assert type(failure) is TemporaryFailure
    assert failure.may_have_accepted
    assert not failure.provider_down


@pytest.mark.parametrize(
    "given",
    [
        refused(409, "idempotency_key_reused"),
        answer(409),
        answer(409, b"<h1>Conflict</h1>"),
    ],
    ids=["by name", "empty", "a page"],
)
def test_any_other_409_leaves_the_outcome_unknown(said: Any, given: bytes) -> None:
    assert type(said(given)) is OutcomeUnknown


def test_a_429_throttles(said: Any) -> None:
    failure = said(refused(429, "rate_limited", "Slow down."))
    assert type(failure) is Throttled
    assert str(failure) == "The provider asks us to slow down: Slow down."


@pytest.mark.parametrize("name", ["quota_exceeded", "monthly_quota_exceeded"])
def test_a_429_for_the_quota_is_an_account_problem(said: Any, name: str) -> None:
    failure = said(refused(429, name, Retry_After="3600"))
    assert type(failure) is AccountProblem
    assert failure.retry_after == timedelta(hours=1)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("120", timedelta(seconds=120)),
        (" 7 ", timedelta(seconds=7)),
        ("0", timedelta(0)),
        ("Mon, 02 Mar 2026 08:01:30 GMT", timedelta(seconds=90)),
        ("Mon, 02 Mar 2026 08:01:30", timedelta(seconds=90)),
        ("Mon, 02 Mar 2026 09:01:30 +0100", timedelta(seconds=90)),
        ("Mon, 02 Mar 2026 07:00:00 GMT", timedelta(0)),
        ("999999999999999999999999", timedelta(days=365)),
        ("00000000000000000001", timedelta(seconds=1)),
        ("00000000000000000000", timedelta(0)),
        ("-5", None),
        ("1.5", None),
        ("", None),
        ("soon", None),
        ("1, 2", None),
        ("Mon, 99 Mar 99999 08:01:30 GMT", None),
        ("Mon, 02 Mar 2026 08:01:30 +9999", None),
        ("Mon, 01 Jan 2026 00:00:00 -99999999999999999999", None),
        ("\xb2", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date_or_not_at_all(
    serve: Serve, header: str, wait: timedelta | None
) -> None:
    head = b"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nRetry-After: %b\r\n\r\n"
    server = serve(answering(head % header.encode("latin-1")))
    provider = SandboxProvider(server.url, timeout_seconds=20, clock=lambda: NOW)
    with pytest.raises(Throttled) as failure:
        send(provider)
    provider.close()
    assert failure.value.retry_after == wait


def test_a_missing_retry_after_is_none(said: Any) -> None:
    assert said(refused(429, "rate_limited")).retry_after is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "(nothing)"),
        (b"\x00\x1b[31m\r\n\r\n", "[31m"),
        (b"plain words", "plain words"),
        (b'{"error": "a string"}', "a string"),
        (b'{"message": "at the top"}', "at the top"),
        (b'{"error": {"name": "only_a_name"}}', "only_a_name"),
        (b'{"error": {"message": "half \\ud800 a character"}}', "half a character"),
        (b'{"error": ["no", "words"]}', '{"error": ["no", "words"]}'),
        (b"\xff\xfe", "��"),
        (b"x" * 5_000, "x" * 500),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_the_providers_words_are_one_short_printable_line(
    said: Any, body: bytes, words: str
) -> None:
    assert str(said(answer(422, body))) == f"The provider refused it (422): {words}"


def test_a_100_continue_is_skipped(said: Any) -> None:
    assert said(b"HTTP/1.1 100 Continue\r\n\r\n" + ok({"id": "msg_1"})) == Receipt(id="msg_1")


@pytest.mark.parametrize("status", [101, 102, 103, 199])
def test_another_1xx_is_temporary(said: Any, status: int) -> None:
    failure = said(f"HTTP/1.1 {status} Odd\r\n\r\n".encode() + ok({"id": "msg_1"}))
    assert type(failure) is TemporaryFailure


@pytest.mark.parametrize(
    "nonsense",
    [
        b"hello\r\n\r\n",
        b"HTTP/1.1 abc Strange\r\n\r\n",
        b"HTTP/9.9 200 Future\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 30 + b"\r\n{}\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200 + b"\r\n",
    ],
    ids=lambda nonsense: repr(nonsense[:40]),
)
@pytest.mark.filterwarnings("ignore::urllib3.exceptions.HTTPWarning")
def test_an_answer_that_is_no_http_is_temporary(
    serve: Serve, connect: Connect, nonsense: bytes
) -> None:
    def script(peer: Any) -> None:
        peer.request()
        peer.send(nonsense)

    with pytest.raises(TemporaryFailure) as failure:
        send(connect(serve(script).url))
    assert failure.value.may_have_accepted
