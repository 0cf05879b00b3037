"""`manage.py check --deploy` on the site's own settings, and forgotten static files."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage, staticfiles_storage
from django.core import checks
from django.test import Client
from pytest_django import Settings

from invoicehub.deploy_checks import check_site

READY = {
    "ALLOWED_HOSTS": ["invoices.company.example"],
    "METRICS_TOKEN": "",
    "MAX_REQUEST_BYTES": 25 * 1024 * 1024,
    "TRUSTED_PROXIES": 1,
    "SECURE_SSL_REDIRECT": True,
    "SESSION_COOKIE_AGE": 14 * 86400,
}


@pytest.mark.parametrize(
    ("id_", "changes"),
    [
        ("", {}),
        ("invoicehub.W001", {"ALLOWED_HOSTS": ["invoices.company.example", "*"]}),
        ("", {"METRICS_TOKEN": "x" * 16}),
        ("invoicehub.W002", {"METRICS_TOKEN": "x" * 15}),
        ("invoicehub.W003", {"MAX_REQUEST_BYTES": 1000}),
        ("invoicehub.W004", {"TRUSTED_PROXIES": 6}),
        ("invoicehub.W005", {"TRUSTED_PROXIES": 0}),
        ("", {"TRUSTED_PROXIES": 0, "SECURE_SSL_REDIRECT": False}),
        ("invoicehub.W006", {"SESSION_COOKIE_AGE": 91 * 86400}),
    ],
)
def test_a_site_is_checked(settings: Settings, id_: str, changes: dict[str, Any]) -> None:
    for name, value in (READY | changes).items():
        setattr(settings, name, value)
    found = check_site()
    assert [message.id for message in found] == ([id_] if id_ else [])
    assert all(message.hint for message in found)


def test_the_site_is_checked_by_check_deploy_only() -> None:
    assert check_site not in checks.registry.registry.get_checks()
    assert check_site in checks.registry.registry.get_checks(include_deployment_checks=True)


@pytest.fixture
def production_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Serve static files by a manifest in that folder, as production does."""
    monkeypatch.setattr(
        staticfiles_storage, "_wrapped", ManifestStaticFilesStorage(location=tmp_path)
    )
    return tmp_path


def test_static_files_that_were_never_collected_are_an_error(
    settings: Settings, production_storage: Path
) -> None:
    for name, value in READY.items():
        setattr(settings, name, value)
    [refusal] = check_site()
    assert (refusal.id, refusal.level) == ("invoicehub.E005", checks.ERROR)
    assert "collectstatic" in (refusal.hint or "")


def test_a_web_server_without_static_files_is_not_ready(
    client: Client, db: None, production_storage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["missing"]) == (503, "static files")
    collected = {"version": "1.1", "hash": "", "paths": {"invoices/site.css": "site.1.css"}}
    (production_storage / "staticfiles.json").write_text(json.dumps(collected))
    there = ManifestStaticFilesStorage(location=production_storage)
    monkeypatch.setattr(staticfiles_storage, "_wrapped", there)
    assert client.get("/readyz").status_code == 200
