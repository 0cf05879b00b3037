"""Bodies of POST /webhooks/email: too large, in chunks, without an end, of strangers."""

import json
import time
from typing import Any

import pytest
from django.test import Client

from deliveries import signatures
from deliveries.models import Delivery
from deliveries.views import LARGEST_BODY
from tests.events.provider import ADDRESS, KEY, payload, post
from tests.events.test_webhook import code
from tests.ledger.steps import fresh


def test_a_body_that_is_too_large_is_not_read(db: None) -> None:
    for size in (LARGEST_BODY + 1, 10 * 1024 * 1024):
        answer = post(b"x" * size)
        assert (answer.status_code, code(answer)) == (413, "too_large")
    assert post(b" " * LARGEST_BODY).status_code == 400


@pytest.mark.parametrize("length", ["-1", "12x", "", "9" * 40])
def test_a_false_length_is_no_fault_of_ours(db: None, length: str) -> None:
    answer = Client(raise_request_exception=False).generic(
        "POST", ADDRESS, b"{}", content_type="application/json", CONTENT_LENGTH=length
    )
    assert answer.status_code in {400, 401, 413}


class Body:
    """What a server reads a body from; `broken` raises it at the end."""

    def __init__(self, *pieces: bytes, broken: Exception | None = None) -> None:
        self.pieces = list(pieces)
        self.broken = broken
        self.read_bytes = 0

    def read(self, size: int = -1) -> bytes:
        if not self.pieces:
            if self.broken is not None:
                raise self.broken
            return b""
        piece = self.pieces.pop(0)
        if 0 <= size < len(piece):
            self.pieces.insert(0, piece[size:])
            piece = piece[:size]
        self.read_bytes += len(piece)
        return piece

    readline = read


def chunked(body: Body, whole: bytes, *, ends: bool = True, key: Any = KEY) -> Any:
    """Post as a server gives a chunked request on; `ends` says that it tells where it ends."""
    signed = signatures.headers(key, whole, id_="evt_chunked", timestamp=int(time.time()))
    given: dict[str, Any] = {"wsgi.input": body, "wsgi.input_terminated": ends}
    client = Client(raise_request_exception=False)
    return client.generic(
        "POST",
        ADDRESS,
        content_type="application/json",
        headers={**signed, "transfer-encoding": "chunked"},
        **given,
    )


def test_a_body_that_ends_early_is_no_fault_of_ours(db: None) -> None:
    broken: dict[str, Any] = {"wsgi.input": Body(broken=OSError("connection reset"))}
    answer = post(b"{}", extra=broken)
    assert (answer.status_code, code(answer)) == (400, "invalid_request")


def test_an_event_in_chunks_is_taken(sent: Delivery) -> None:
    whole = json.dumps(payload("bounced")).encode()
    answer = chunked(Body(whole[:10], whole[10:]), whole)
    assert (answer.status_code, answer.json()) == (202, {"status": "accepted"})
    assert fresh(sent).after_sending == "bounced"


def test_chunks_that_are_too_many_are_not_read_on(db: None) -> None:
    body = Body(*[b"x" * 100_000] * 100)
    answer = chunked(body, b"x")
    assert (answer.status_code, code(answer)) == (413, "too_large")
    assert body.read_bytes == LARGEST_BODY + 1


def test_chunks_without_an_end_are_no_fault_of_ours(db: None) -> None:
    class ServersOwn(Exception):
        pass

    answer = chunked(Body(b"{", broken=ServersOwn()), b"{}")
    assert (answer.status_code, code(answer)) == (400, "invalid_request")


def test_a_server_that_cannot_read_chunks_asks_for_a_length(db: None) -> None:
    answer = chunked(Body(b"{}"), b"{}", ends=False)
    assert (answer.status_code, code(answer)) == (411, "length_required")


@pytest.mark.parametrize(
    "headers",
    [
        {"svix-signature": ""},
        {"svix-signature": "nonsense"},
        {"svix-signature": "v1,"},
        {"svix-signature": "v2,AAAA"},
        {"svix-timestamp": "1000"},
        {"svix-timestamp": "now"},
        {"svix-id": ""},
    ],
)
def test_the_body_of_what_cannot_be_signed_is_not_read(db: None, headers: dict[str, str]) -> None:
    body = Body(b"{}")
    assert post(b"{}", headers=headers, extra={"wsgi.input": body}).status_code == 401
    assert body.read_bytes == 0
