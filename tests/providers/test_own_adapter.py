"""An adapter by its dotted path: the one that docs/providers.md shows, run as it stands there."""

import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as project
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from deliveries import providers
from deliveries.checks import check_provider
from deliveries.errors import (
    AccountProblem,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.providers import Receipt
from tests import factories
from tests.providers.conftest import Serve
from tests.providers.raw_server import RawServer, answer, answering

NAME = "company.post.PostProvider"


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Put the example of the docs where Python finds it; return its dotted path."""
    page = (Path(project.BASE_DIR) / "docs" / "providers.md").read_text()
    found = re.search(r"```python\n(# company/post\.py.*?)```", page, re.DOTALL)
    assert found is not None
    (tmp_path / "company").mkdir()
    (tmp_path / "company" / "post.py").write_text(found[1])
    monkeypatch.syspath_prepend(tmp_path)
    yield NAME
    for name in ("company.post", "company"):
        sys.modules.pop(name, None)


@pytest.fixture
def provider(adapter: str, serve: Serve, settings: Settings) -> providers.Provider:
    settings.EMAIL_PROVIDER_URL = serve(answering(answer(201, b'{"letter": "L-1"}'))).url
    return providers.from_settings(adapter)


def test_the_adapter_of_the_docs_sends(provider: providers.Provider) -> None:
    receipt = provider.send(factories.make_message(), idempotency_key="delivery-1")
    assert receipt == Receipt(id="L-1")
    assert providers.key_lifetime(provider) == timedelta(hours=24)
    assert providers.reported_rate(provider) is None


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (401, AccountProblem),
        (422, PermanentFailure),
        (429, Throttled),
        (302, TemporaryFailure),
        (503, TemporaryFailure),
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


def test_the_checks_know_an_adapter_by_its_path(adapter: str, settings: Settings) -> None:
    settings.EMAIL_PROVIDER = adapter
    assert check_provider() == []
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
