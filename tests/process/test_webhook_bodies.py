"""The webhook behind the real web server: bodies in chunks, and bodies that never come."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from deliveries import signatures
from invoicehub.rehearsal.fleet import Fleet
from tests.events.provider import KEY, SECRET, payload
from tests.process.conftest import database_url


@pytest.fixture
def fleet(transactional_db: None, tmp_path: Path) -> Iterator[Fleet]:
    settings = {"EMAIL_PROVIDER_WEBHOOK_SECRET": SECRET}
    with Fleet(database_url=database_url(), folder=tmp_path, settings=settings) as fleet:
        fleet.start_web()
        yield fleet


def post_in_chunks(fleet: Fleet, *pieces: bytes) -> int:
    body = b"".join(pieces)
    signed = signatures.headers(KEY, body, id_="evt_1", timestamp=int(time.time()))
    address = f"{fleet.web_url}/webhooks/email"
    return requests.post(address, data=iter(pieces), headers=signed, timeout=20).status_code


def test_bodies_in_chunks_are_taken_and_capped(fleet: Fleet) -> None:
    whole = json.dumps(payload("bounced")).encode()
    assert post_in_chunks(fleet, whole[:10], whole[10:]) == 202
    with contextlib.suppress(requests.ConnectionError):  # It was answered in mid body, and closed.
        assert post_in_chunks(fleet, *[b"x" * 100_000] * 100) == 413
    assert post_in_chunks(fleet, whole) == 202


def test_a_stranger_whose_body_came_whole_keeps_the_connection(fleet: Fleet) -> None:
    with requests.Session() as session:
        for _ in range(3):
            answer = session.post(f"{fleet.web_url}/webhooks/email", data=b"x" * 5000, timeout=20)
            assert (answer.status_code, answer.json()["error"]["code"]) == (
                401,
                "invalid_signature",
            )
            assert answer.headers["Connection"] == "keep-alive"


def test_unsigned_requests_that_never_end_hold_no_thread(fleet: Fleet) -> None:
    parts = urlsplit(fleet.web_url)
    head = b"POST /webhooks/email HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"
    stalled = []
    for _ in range(40):
        stalled.append(socket.create_connection((str(parts.hostname), parts.port or 80)))
        stalled[-1].sendall(head)
    started = time.monotonic()
    answer = requests.get(f"{fleet.web_url}/healthz", timeout=60)
    took = time.monotonic() - started
    for each in stalled:
        assert each.recv(12) == b"HTTP/1.1 401"
        each.close()
    assert answer.status_code == 200
    assert took < 5
