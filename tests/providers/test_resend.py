"""The adapter for Resend against a server that speaks its documented protocol, over real HTTP."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from deliveries import providers
from deliveries.errors import (
    AccountProblem,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.models import Message
from deliveries.providers import rate_limit
from deliveries.providers.resend import ResendProvider, encode
from tests import factories
from tests.providers.raw_server import PATIENCE_SECONDS
from tests.providers.resend_server import API_KEY, Refusal, ResendServer

KEY = "delivery-5d0bd8c6-0d7c-4a70-a6a5-0f0b8c1a2f3e"
Connect = Callable[..., ResendProvider]


@pytest.fixture
def resend() -> Iterator[ResendServer]:
    server = ResendServer()
    yield server
    server.close()


@pytest.fixture
def connect(resend: ResendServer) -> Iterator[Connect]:
    made: list[ResendProvider] = []

    def make(api_key: str = API_KEY) -> ResendProvider:
        made.append(ResendProvider(resend.url, api_key=api_key, timeout_seconds=PATIENCE_SECONDS))
        return made[-1]

    yield make
    for provider in made:
        provider.close()


def send(provider: ResendProvider, *, key: str = KEY, **values: Any) -> providers.Receipt:
    return provider.send(factories.make_message(**values), idempotency_key=key)


def test_a_message_arrives_as_resend_wants_it(resend: ResendServer, connect: Connect) -> None:
    receipt = send(connect(), cc=["boss@mamaput.example"], reply_to="billing@mainland.example")
    assert resend.emails[receipt.id] == {
        "from": '"Mainland Supplies Ltd" <invoices@invoicehub.example>',
        "to": ["accounts@mamaput.example"],
        "cc": ["boss@mamaput.example"],
        "reply_to": ["billing@mainland.example"],
        "subject": "Invoice INV-0001 from Mainland Supplies Ltd",
        "text": "Please find the invoice attached.",
        "html": "<p>Please find the invoice attached.</p>",
        "headers": {"X-Correlation-ID": "req-41"},
        "attachments": [
            {"filename": "INV-0001.pdf", "content_type": "application/pdf", "content": "JVBERg=="}
        ],
        "tags": [{"name": "idempotency_key", "value": KEY}],
    }
    [(path, headers)] = resend.requests
    assert path == "/emails"  # Never /emails/batch, which drops attachments.
    assert headers["idempotency-key"] == KEY
    assert headers["user-agent"].startswith("InvoiceHub/")


def test_the_bytes_of_a_message_are_pinned() -> None:
    # A change here makes 409, outcome unknown, of whatever is being retried meanwhile.
    message = factories.make_message(html="", text="₦", attachments=[])
    assert encode(message, idempotency_key="a.b").decode() == (
        '{"from":"\\"Mainland Supplies Ltd\\" <invoices@invoicehub.example>",'
        '"to":["accounts@mamaput.example"],'
        '"subject":"Invoice INV-0001 from Mainland Supplies Ltd","text":"₦","html":"",'
        '"headers":{"X-Correlation-ID":"req-41"},"attachments":[],'
        '"tags":[{"name":"idempotency_key","value":"a_b"}]}'
    )


def test_the_same_key_sends_once(resend: ResendServer, connect: Connect) -> None:
    provider = connect()
    assert send(provider).id == send(provider).id
    assert len(resend.emails) == 1


def test_an_answer_that_was_lost_is_had_by_asking_again(
    resend: ResendServer, connect: Connect
) -> None:
    resend.drop_answers = 1
    provider = connect()
    with pytest.raises(TemporaryFailure) as failure:
        send(provider)
    assert failure.value.may_have_accepted
    receipt = send(provider)
    assert list(resend.emails) == [receipt.id]


def test_another_content_under_the_key_leaves_the_outcome_unknown(connect: Connect) -> None:
    provider = connect()
    send(provider)
    with pytest.raises(OutcomeUnknown):
        send(provider, subject="Another")


def test_the_same_key_at_the_same_time_is_temporary(resend: ResendServer, connect: Connect) -> None:
    resend.go_on.clear()
    provider = connect()
    first = threading.Thread(target=send, args=(provider,))
    first.start()
    assert resend.working.wait(PATIENCE_SECONDS)
    with pytest.raises(TemporaryFailure) as failure:
        send(provider)
    assert not failure.value.provider_down
    resend.go_on.set()
    first.join()
    assert len(resend.emails) == 1


def test_a_key_that_does_not_exist_is_an_account_problem(connect: Connect) -> None:
    with pytest.raises(AccountProblem, match="API key is invalid"):
        send(connect(api_key="re_wrong"))


def test_a_domain_that_is_not_verified_is_an_account_problem(connect: Connect) -> None:
    with pytest.raises(AccountProblem) as failure:
        send(connect(), from_address="invoices@elsewhere.example")
    assert "The domain is not verified." in str(failure.value)
    # What every organization's pages show names nobody's address.
    assert failure.value.summary == "The provider refuses our account (403)."


ROWS: list[tuple[int, str, type[ProviderFailure]]] = [
    (400, "invalid_idempotency_key", PermanentFailure),
    (400, "validation_error", PermanentFailure),
    (401, "missing_api_key", AccountProblem),
    (401, "restricted_api_key", AccountProblem),
    (401, "validation_error", AccountProblem),
    (403, "invalid_api_key", AccountProblem),
    (403, "invalid_permission", AccountProblem),
    (403, "restricted_api_key", AccountProblem),
    (403, "suspended_api_key", AccountProblem),
    (403, "validation_error", AccountProblem),
    (404, "not_found", AccountProblem),
    (405, "method_not_allowed", AccountProblem),
    (409, "concurrent_idempotent_requests", TemporaryFailure),
    (409, "invalid_idempotent_request", OutcomeUnknown),
    (409, "resource_locked", TemporaryFailure),
    (422, "invalid_access", PermanentFailure),
    (422, "invalid_attachment", PermanentFailure),
    (422, "invalid_from_address", PermanentFailure),
    (403, "invalid_from_address", PermanentFailure),
    (422, "invalid_parameter", PermanentFailure),
    (422, "invalid_region", PermanentFailure),
    (422, "missing_required_field", PermanentFailure),
    (422, "missing_required_parameter", PermanentFailure),
    (422, "validation_error", PermanentFailure),
    (429, "daily_quota_exceeded", AccountProblem),
    (429, "monthly_quota_exceeded", AccountProblem),
    (429, "rate_limit_exceeded", Throttled),
    (451, "security_error", PermanentFailure),
    (500, "application_error", TemporaryFailure),
    (500, "internal_server_error", TemporaryFailure),
    (503, "service_unavailable", TemporaryFailure),
    (503, "validation_error", TemporaryFailure),
    # The name decides, whatever status it comes with.
    (409, "rate_limit_exceeded", Throttled),
    (400, "concurrent_idempotent_requests", TemporaryFailure),
    (429, "suspended_api_key", AccountProblem),
    # Without a name, or with one that nobody knows yet, the status does.
    (403, "", AccountProblem),
    (409, "brand_new", OutcomeUnknown),
    (422, "brand_new", PermanentFailure),
    (429, "brand_new", Throttled),
    (502, "brand_new", TemporaryFailure),
]


@pytest.mark.parametrize(("status", "name", "meaning"), ROWS)
def test_an_error_is_sorted_by_its_name(
    resend: ResendServer,
    connect: Connect,
    status: int,
    name: str,
    meaning: type[ProviderFailure],
) -> None:
    resend.refusals.append(Refusal(status, name, "In their words."))
    with pytest.raises(ProviderFailure) as failure:
        send(connect())
    assert type(failure.value) is meaning
    assert resend.emails == {}


def test_a_400_about_the_key_is_an_account_problem(resend: ResendServer, connect: Connect) -> None:
    resend.refusals.append(Refusal(400, "validation_error", "API key is invalid"))
    with pytest.raises(AccountProblem):
        send(connect())


@pytest.mark.parametrize(
    ("name", "headers", "wait"),
    [
        ("rate_limit_exceeded", {"retry-after": "3"}, timedelta(seconds=3)),
        ("rate_limit_exceeded", {}, None),
        ("daily_quota_exceeded", {"retry-after": "7200"}, timedelta(hours=2)),
        ("monthly_quota_exceeded", {}, timedelta(minutes=30)),
    ],
)
def test_the_wait_is_what_resend_asks_for(
    resend: ResendServer,
    connect: Connect,
    name: str,
    headers: dict[str, str],
    wait: timedelta | None,
) -> None:
    resend.refusals.append(Refusal(429, name, headers=headers))
    with pytest.raises((Throttled, AccountProblem)) as failure:
        send(connect())
    assert failure.value.retry_after == wait


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"to": [f"{n}@mamaput.example" for n in range(51)]}, "more than 50 recipients"),
        (
            {"attachments": [{"filename": "a", "content_type": "a/b", "content": "A" * 41943041}]},
            "larger than 40 MB",
        ),
        ({"to": ["a@ex..ample–.example"]}, "no domain"),
    ],
    ids=["recipients", "attachments", "domain"],
)
def test_what_resend_would_refuse_is_not_uploaded(
    resend: ResendServer, connect: Connect, values: dict[str, Any], words: str
) -> None:
    with pytest.raises(PermanentFailure, match=words):
        send(connect(), **values)
    assert resend.requests == []


def test_an_international_domain_goes_as_punycode(resend: ResendServer, connect: Connect) -> None:
    receipt = send(connect(), to=["info@straße.example"], reply_to="büro@grün.example")
    assert resend.emails[receipt.id]["to"] == ["info@xn--strae-oqa.example"]
    assert resend.emails[receipt.id]["reply_to"] == ["büro@xn--grn-ioa.example"]


def test_the_rate_that_resend_reports_is_known(resend: ResendServer, connect: Connect) -> None:
    provider = connect()
    send(provider)
    assert providers.reported_rate(provider) is None
    resend.per_second = 2
    send(provider)
    assert providers.reported_rate(provider) == 2.0
    resend.per_second = 1
    with pytest.raises(Throttled):
        send(provider)
    # A refusal says it, too.
    assert providers.reported_rate(provider) == 1.0


def test_what_a_gateway_says_of_its_rate_is_not_resends(
    resend: ResendServer, connect: Connect
) -> None:
    provider = connect()
    headers = {"ratelimit-limit": "1"}
    for status in (401, 429, 502):
        resend.refusals.append(Refusal(status, "", headers=headers))
        with pytest.raises(ProviderFailure):
            send(provider)
    assert providers.reported_rate(provider) is None


@pytest.mark.parametrize(
    ("headers", "rate"),
    [
        ({"RateLimit-Limit": "5"}, 5.0),
        ({"RateLimit-Limit": "100", "RateLimit-Policy": "100;w=60"}, 100 / 60),
        ({"RateLimit-Limit": "10, 10;w=1;burst=1000, 1000;w=3600"}, 10.0),
        ({"RateLimit-Limit": " 7 "}, 7.0),
        ({"RateLimit-Limit": "10", "RateLimit-Policy": "1000;w=3600, 10;w=1"}, 10.0),
        ({"RateLimit-Limit": "1000", "RateLimit-Policy": "100;w=1, 1000;w=3600"}, None),
        ({"RateLimit-Limit": "1", "RateLimit-Policy": "1;w=86400"}, None),
        ({"RateLimit-Limit": "1", "RateLimit-Policy": "1;w=60"}, 0.1),
        ({"RateLimit-Limit": "5", "RateLimit-Policy": "5;burst=9;w=2;x=1"}, 2.5),
        ({"RateLimit-Limit": "0"}, None),
        ({"RateLimit-Limit": "5", "RateLimit-Policy": "5;w=0"}, None),
        ({"RateLimit-Limit": "-5"}, None),
        ({"RateLimit-Limit": "1" * 30}, None),
        ({"RateLimit-Limit": "many"}, None),
        ({"RateLimit-Limit": ""}, None),
        ({}, None),
    ],
    ids=str,
)
def test_rate_limit_headers_are_read(headers: dict[str, str], rate: float | None) -> None:
    assert rate_limit.per_second(headers) == rate


@pytest.mark.parametrize("key", ["", "re_ä", "re_1 2", "re_1\n"])
def test_a_key_that_can_be_none_is_refused_at_start(settings: Settings, key: str) -> None:
    settings.EMAIL_PROVIDER_API_KEY = key
    with pytest.raises(ImproperlyConfigured, match="EMAIL_PROVIDER_API_KEY must be"):
        providers.from_settings("resend")


def test_it_is_made_from_the_settings(settings: Settings, resend: ResendServer) -> None:
    settings.EMAIL_PROVIDER_URL, settings.EMAIL_PROVIDER_API_KEY = resend.url, API_KEY
    provider = providers.from_settings("resend")
    message: Message = factories.make_message()
    assert provider.send(message, idempotency_key=KEY).id in resend.emails
    assert providers.key_lifetime(provider) == timedelta(hours=24)
    provider.close()
