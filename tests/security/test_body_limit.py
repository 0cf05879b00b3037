"""What is too large is refused before anybody reads it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings


@pytest.mark.parametrize("kind", ["text/html", "*/*"])
def test_a_body_declared_too_large_is_refused(
    client: Client, owner: User, settings: Settings, kind: str
) -> None:
    settings.MAX_REQUEST_BYTES = 1024 * 1024
    client.force_login(owner)
    answer = client.post(
        "/login",
        b"x" * (1024 * 1024 + 1),
        content_type="application/octet-stream",
        headers={"Accept": kind},
    )
    assert answer.status_code == 413
    assert "1 MB" in answer.content.decode()
    assert "Content-Security-Policy" in answer.headers


def test_nonsense_as_a_length_is_no_fault_of_ours(client: Client, db: None) -> None:
    assert client.get("/login", CONTENT_LENGTH="many").status_code == 200


def test_a_form_of_too_many_fields_is_a_bad_request(client: Client, db: None) -> None:
    assert client.post("/login", {f"f{n}": "" for n in range(5_001)}).status_code == 400


def test_a_form_too_large_for_memory_is_a_bad_request(client: Client, db: None) -> None:
    body = b"username=" + b"x" * (5 * 1024 * 1024)
    answer = client.post("/login", body, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 400
