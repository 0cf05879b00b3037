"""Probes, and pages for what went wrong."""

import pytest
from django.db import OperationalError
from django.test import Client

from tests.reading import text


def test_the_process_answers_without_the_database(client: Client) -> None:
    assert text(client.get("/healthz")) == "ok"


def test_ready_means_that_the_database_answers_with_every_migration(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/readyz").json() == {"status": "ready"}
    monkeypatch.setattr(
        "django.db.migrations.recorder.MigrationRecorder.applied_migrations", lambda self: {}
    )
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "Migrations are missing: " in answer.json()["problem"]


def test_an_unknown_address_is_a_page_for_people_and_json_for_programs(
    client: Client, db: None
) -> None:
    page = client.get("/nonsense", headers={"accept": "text/html"})
    assert (page.status_code, "There is nothing here" in page.content.decode()) == (404, True)
    answer = client.get("/nonsense")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("kind", ["text/html", "application/json"])
def test_a_database_that_is_away_is_no_fault_of_ours(
    client: Client, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def away() -> None:
        raise OperationalError("connection refused")

    client.raise_request_exception = False
    monkeypatch.setattr("invoicehub.health._problem", away)
    answer = client.get("/readyz", headers={"accept": kind})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "The database does not answer" in answer.content.decode()


def test_a_fault_of_ours_is_a_page_that_needs_no_database(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.raise_request_exception = False
    monkeypatch.setattr("invoicehub.health._problem", lambda: 1 / 0)
    page = client.get("/readyz", headers={"accept": "text/html"})
    assert page.status_code == 500
    assert "The fault is ours" in page.content.decode()
