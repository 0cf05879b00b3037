"""/readyz: what is missing, as JSON."""

import pytest
from django.db import OperationalError
from django.test import Client

APPLIED = "django.db.migrations.recorder.MigrationRecorder.applied_migrations"


def test_a_missing_migration_is_named(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(APPLIED, lambda self: {})
    answer = client.get("/readyz")
    told = answer.json()
    assert (answer.status_code, told["status"], told["missing"]) == (503, "not ready", "migrations")
    assert "deliveries.0001_ledger" in told["problem"]


def test_a_missing_database_is_told_without_its_secrets(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(recorder: object) -> None:
        raise OperationalError('connection to server at "db.internal" failed')

    monkeypatch.setattr(APPLIED, fail)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "not ready",
        "missing": "database",
        "problem": "The database does not answer.",
    }


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_only_read(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405
