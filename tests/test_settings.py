"""Starting with settings that cannot work ends at once, with a sentence that says what to do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

PRODUCTION = {
    "DEBUG": "false",
    "SECRET_KEY": "x" * 60,
    "ALLOWED_HOSTS": "invoices.example",
    "DATABASE_URL": "postgres://invoicehub@db.example/invoicehub",
}


def check(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return manage("check", *options, **environment)


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in PRODUCTION}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.thorough
def test_a_production_configuration_starts() -> None:
    assert check(**PRODUCTION).returncode == 0


@pytest.mark.thorough
def test_smtp_starts_with_what_it_needs_and_no_more() -> None:
    ended = check(**PRODUCTION, EMAIL_PROVIDER="smtp", EMAIL_HOST="mail.example")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"DATABASE_URL": ""}, "embedded PostgreSQL is for development only"),
        pytest.param(
            {"DATABASE_URL": "sqlite:///x.db"},
            "must point at PostgreSQL",
            marks=pytest.mark.thorough,
        ),
        pytest.param({"SECRET_KEY": ""}, "SECRET_KEY must be set", marks=pytest.mark.thorough),
        pytest.param({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS must name", marks=pytest.mark.thorough),
        ({"DELIVERY_LEASE_SECONDS": "10"}, "deliveries.E001"),
        pytest.param(
            {"DELIVERY_MAX_ATTEMPTS": "99999999999"},
            "DELIVERY_MAX_ATTEMPTS must be at most 1000",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            {"MESSAGE_RETENTION_DAYS": "9999999"},
            "MESSAGE_RETENTION_DAYS must be at most 36500",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            {"PROVIDER_EVENT_RETENTION_DAYS": "9999999"},
            "must be at most 36500",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            {"DATABASE_URL": "postgres://me:hu/hush@db:5432/x"},
            "DATABASE_URL cannot be read",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            {"EMAIL_PROVIDER": "smtp", "DELIVERY_KEY_LIFETIME_SECONDS": "86400"},
            "deliveries.E006",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_nonsense_is_refused_with_a_sentence(changes: dict[str, str], said: str) -> None:
    ended = check(**PRODUCTION | changes)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "hush" not in ended.stderr


DEPLOYED = PRODUCTION | {
    "SECRET_KEY": "fV3-kq9X_0pLw7ZsT5cNa8RbYh2uJd6EgMx1oQiCtWvKzUySlPnHrBjAeGfD4m",
    "EMAIL_PROVIDER": "resend",
    "EMAIL_PROVIDER_API_KEY": "re_123",
    "EMAIL_PROVIDER_WEBHOOK_SECRET": "whsec_dGhlIHNlY3JldCBvZiB0aGVzZSB0ZXN0cyE=",
    "EMAIL_FROM": "invoices@company.com",
}


@pytest.mark.parametrize("changes", [{"EMAIL_HOST": ""}, {}])
@pytest.mark.thorough
def test_smtp_without_a_mail_server_is_not_deployed(changes: dict[str, str]) -> None:
    ended = check("--deploy", **DEPLOYED | {"EMAIL_PROVIDER": "smtp"} | changes)
    assert ended.returncode == 1
    assert "EMAIL_HOST must be set" in ended.stderr


@pytest.fixture
def collected(tmp_path: Path) -> dict[str, str]:
    """Set STATIC_ROOT to where `collectstatic` has been."""
    paths = {"invoices/site.css": "invoices/site.1.css"}
    manifest = {"version": "1.1", "hash": "", "paths": paths}
    (tmp_path / "staticfiles.json").write_text(json.dumps(manifest))
    return {"STATIC_ROOT": str(tmp_path)}


def test_a_full_production_configuration_has_nothing_to_complain_of(
    collected: dict[str, str],
) -> None:
    environment = DEPLOYED | collected | {"EMAIL_PROVIDER_URL": ""}
    ended = check("--deploy", "--fail-level", "WARNING", **environment)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.thorough
def test_secrets_may_come_from_files(tmp_path: Path, collected: dict[str, str]) -> None:
    secrets = ("SECRET_KEY", "DATABASE_URL", "EMAIL_PROVIDER_API_KEY")
    environment = {name: value for name, value in DEPLOYED.items() if name not in secrets}
    for name in (*secrets, "EMAIL_PROVIDER_WEBHOOK_SECRET"):
        file = tmp_path / name.lower()
        file.write_text(f"{DEPLOYED[name]}\n")
        environment[f"{name}_FILE"] = str(file)
    del environment["EMAIL_PROVIDER_WEBHOOK_SECRET"]
    ended = check("--deploy", "--fail-level", "WARNING", **environment, **collected)
    assert (ended.returncode, ended.stderr) == (0, "")
