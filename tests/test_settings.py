"""Starting with settings that cannot work ends at once, with a sentence that says what to do."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

PRODUCTION = {
    "DEBUG": "false",
    "SECRET_KEY": "x" * 60,
    "ALLOWED_HOSTS": "invoices.example",
    "DATABASE_URL": "postgres://invoicehub@db.example/invoicehub",
}


def check(**environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in PRODUCTION}
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=settings.BASE_DIR,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_production_configuration_starts() -> None:
    assert check(**PRODUCTION).returncode == 0


def test_smtp_starts_with_what_it_needs_and_no_more() -> None:
    ended = check(**PRODUCTION, EMAIL_PROVIDER="smtp", EMAIL_HOST="mail.example")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"DATABASE_URL": ""}, "embedded PostgreSQL is for development only"),
        ({"DATABASE_URL": "sqlite:///x.db"}, "must point at PostgreSQL"),
        ({"SECRET_KEY": ""}, "SECRET_KEY must be set"),
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS must name"),
        ({"DELIVERY_LEASE_SECONDS": "10"}, "deliveries.E001"),
        (
            {"EMAIL_PROVIDER": "smtp", "DELIVERY_KEY_LIFETIME_SECONDS": "86400"},
            "deliveries.E006",
        ),
    ],
)
def test_nonsense_is_refused_with_a_sentence(changes: dict[str, str], said: str) -> None:
    ended = check(**PRODUCTION | changes)
    assert ended.returncode == 1
    assert said in ended.stderr
