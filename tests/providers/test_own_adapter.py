"""An adapter by its dotted path: the one that docs/providers.md shows, run as it stands there."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as project
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from deliveries import events, providers
from deliveries.checks import check_provider, check_webhook_secret
from deliveries.deploy_checks import check_deployment
from deliveries.errors import (
    AccountProblem,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.models import Message
from deliveries.policy import Policy
from deliveries.providers import Receipt
from tests import factories
from tests.providers.conftest import Serve
from tests.providers.raw_server import RawServer, answer, answering

NAME = "company.post.PostProvider"


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[str]:
    """Put the example of the docs where Python finds it; return its dotted path."""
    page = (Path(project.BASE_DIR) / "docs" / "providers.md").read_text()
    found = re.search(r"```python\n(# company/post\.py.*?)```", page, re.DOTALL)
    assert found is not None
    (tmp_path / "company").mkdir()
    (tmp_path / "company" / "post.py").write_text(found[1])
    monkeypatch.syspath_prepend(tmp_path)
    settings.EMAIL_PROVIDER, settings.EMAIL_PROVIDER_API_KEY = NAME, "a key"
    settings.EMAIL_FROM = "invoices@company.com"
    yield NAME
    for name in ("company.post", "company"):
        sys.modules.pop(name, None)


@pytest.fixture
def server(adapter: str, serve: Serve, settings: Settings) -> RawServer:
    server = serve(answering(answer(201, b'{"letter": "L-1"}')))
    settings.EMAIL_PROVIDER_URL = server.url
    return server


@pytest.fixture
def provider(adapter: str, server: RawServer) -> Iterator[providers.Provider]:
    provider = providers.from_settings(adapter)
    yield provider
    provider.close()


def whole_message() -> Message:
    """Return a message in which every field says something."""
    return factories.make_message(
        cc=["boss@mamaput.example"],
        reply_to="accounts@lagos.example",
        html="<p>Attached.</p>",
        headers={"X-Correlation-ID": "abc", "X-Batch": "7"},
    )


def test_the_adapter_of_the_docs_sends(provider: providers.Provider) -> None:
    receipt = provider.send(factories.make_message(), idempotency_key="delivery-1")
    assert receipt == Receipt(id="L-1")
    assert providers.key_lifetime(provider) == timedelta(hours=24)
    assert providers.reported_rate(provider) is None


def test_the_adapter_of_the_docs_passes_everything_on(
    provider: providers.Provider, server: RawServer
) -> None:
    message = whole_message()
    provider.send(message, idempotency_key="delivery-1")
    sent = json.loads(server.requests[0].body)
    assert sent.pop("from") == message.from_address
    assert sent["cc"] == ["boss@mamaput.example"]
    assert sent["headers"]["X-Correlation-ID"] == "abc"
    assert sent == {name: getattr(message, name) for name in sent}
    fields = {field.name for field in Message._meta.concrete_fields}
    bookkeeping = {"id", "delivery", "idempotency_key", "created_at", "content_dropped_at"}
    assert set(sent) | {"from_address"} == fields - bookkeeping


def test_two_attempts_of_the_adapter_of_the_docs_are_the_same_bytes(
    provider: providers.Provider, server: RawServer
) -> None:
    first = whole_message()
    stored = whole_message()
    # As the database gives them back: in another order.
    stored.headers = dict(reversed(stored.headers.items()))
    stored.attachments = [dict(reversed(part.items())) for part in stored.attachments]
    for message in (first, stored):
        provider.send(message, idempotency_key="delivery-1")
    one, other = server.requests
    assert one.body == other.body
    assert one.headers == other.headers
    assert one.headers["idempotency-key"] == "delivery-1"


def test_the_docs_tell_of_every_field_of_a_message() -> None:
    page = (Path(project.BASE_DIR) / "docs" / "providers.md").read_text()
    rows = re.findall(r"^\| (`.+?`) \| `(?:str|list|dict)", page, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    fields = {field.name for field in Message._meta.concrete_fields}
    assert told == fields - {
        *("id", "delivery", "idempotency_key", "created_at", "content_dropped_at"),
    }


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (401, AccountProblem),
        (422, PermanentFailure),
        (429, Throttled),
        (302, AccountProblem),
        (503, TemporaryFailure),
        (201, TemporaryFailure),
    ],
)
def test_the_adapter_of_the_docs_sorts_errors(
    adapter: str, serve: Serve, settings: Settings, status: int, meaning: type[ProviderFailure]
) -> None:
    server: RawServer = serve(answering(answer(status, b"no")))
    settings.EMAIL_PROVIDER_URL = server.url
    with pytest.raises(meaning):
        providers.from_settings(adapter).send(
            factories.make_message(), idempotency_key="delivery-1"
        )
    assert server.requests[0].headers["idempotency-key"] == "delivery-1"


def test_the_adapter_of_the_docs_says_that_its_address_is_missing(
    adapter: str, settings: Settings
) -> None:
    settings.EMAIL_PROVIDER_URL = ""
    [refusal] = check_deployment()
    assert refusal.id == "deliveries.E007"
    assert "EMAIL_PROVIDER_URL must be set" in refusal.msg


def test_the_events_of_the_adapter_of_the_docs_are_understood(
    adapter: str, settings: Settings
) -> None:
    returned = {
        "type": "letter.returned",
        "timestamp": "2026-03-02T08:00:00Z",
        "data": {"letter": "L-1", "reason": {"type": "Permanent", "subType": "NoEmail"}},
    }
    report = events.read(json.dumps(returned).encode(), event_id="evt_1")
    assert (report.outcome, report.provider_message_id) == ("bounced", "L-1")
    assert report.reason == "the mailbox does not exist"
    assert report.at is not None
    opened = json.dumps({"type": "letter.opened", "data": {}}).encode()
    assert events.read(opened, event_id="evt_2").shelf == "no_effect"
    settings.EMAIL_PROVIDER_WEBHOOK_KEYS = []
    assert [found.id for found in check_webhook_secret()] == ["deliveries.E011"]


def test_the_checks_know_an_adapter_by_its_path(adapter: str, settings: Settings) -> None:
    assert check_provider() == []
    assert Policy.from_settings().key_lifetime == timedelta(hours=24)
    settings.DELIVERY_KEY_LIFETIME_SECONDS = 86401
    [refusal] = check_provider()
    assert refusal.id == "deliveries.E006"


def test_a_module_that_breaks_on_import_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_post.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImproperlyConfigured, match=r"broken_post\.Post.*division by zero"):
        providers.from_settings("broken_post.Post")
