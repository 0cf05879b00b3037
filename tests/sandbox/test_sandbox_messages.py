"""What a message must look like, and what is kept of it."""

import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import requests

from deliveries.sandbox import SandboxProvider
from deliveries.sandbox.addresses import InvalidAddress, addresses_in

HandOver = Callable[..., requests.Response]


def refusal(answer: requests.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["name"]


@pytest.mark.parametrize(
    ("field", "addresses"),
    [
        ("ann@customer.example", ["ann@customer.example"]),
        ("Ann <ann@customer.example>", ["ann@customer.example"]),
        ('"Lee, Ann" <ann@c.example>, bob@c.example', ["ann@c.example", "bob@c.example"]),
        ("ann@c.example (Ann, of Acme)", ["ann@c.example"]),
        ("Jürgen <j+invoices@müller.example>", ["j+invoices@müller.example"]),
        ("<ann@mail.customer.co.example>", ["ann@mail.customer.co.example"]),
    ],
)
def test_an_address_list_is_read(field: str, addresses: list[str]) -> None:
    assert addresses_in(field) == addresses


@pytest.mark.parametrize(
    "field",
    [
        "",
        "nobody",
        "a@b@c.example",
        "ann@localhost",
        "ann@customer..example",
        "ann@.example",
        "ann@-customer.example",
        "@customer.example",
        "ann @customer.example",
        "ann@customer.example,",
        "ann@customer.example; bob@customer.example",
        "ann@customer.example\nBcc: all@customer.example",
        "ann@customer.example\r",
        "ann\x00@customer.example",
        "ann\u2028@customer.example",
        "jürgen@customer.example",
        'ann"x"@customer.example',
        "Ann <ann@customer.example> Lee",
        f"{'a' * 250}@customer.example",
        "anyone@refused.example",
        "anyone@Refused.Example",
        "Refused@customer.example",
    ],
)
def test_a_bad_address_is_found(field: str) -> None:
    with pytest.raises(InvalidAddress):
        addresses_in(field)


@pytest.mark.parametrize(
    "changes",
    [
        {"to": "nobody"},
        {"to": ["ann@customer.example", "nobody"]},
        {"to": "anyone@refused.example"},
        {"cc": "nobody"},
        {"reply_to": "nobody"},
        {"from": "nobody"},
        {"from": "a@acme.example, b@acme.example"},
    ],
)
def test_a_message_with_a_bad_address_is_refused(
    provider: SandboxProvider, hand_over: HandOver, changes: dict[str, Any]
) -> None:
    assert refusal(hand_over(**changes)) == (422, "invalid_address")
    assert provider.messages() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"from": None},
        {"to": None},
        {"to": []},
        {"to": ""},
        {"to": 7},
        {"to": [7]},
        {"subject": None},
        {"subject": 7},
        {"text": None, "html": None},
        {"text": "", "html": ""},
        {"text": 7},
        {"headers": ["X-A"]},
        {"headers": {"X-A": 7}},
        {"headers": {"X A": "a"}},
        {"headers": {"X-A": "a\r\nBcc: all@customer.example"}},
    ],
)
def test_a_missing_or_malformed_field_is_refused(
    hand_over: HandOver, changes: dict[str, Any]
) -> None:
    assert refusal(hand_over(**changes)) == (422, "missing_field")


@pytest.mark.parametrize(
    "attachments",
    [
        "invoice.pdf",
        ["invoice.pdf"],
        [{"content": "YQ=="}],
        [{"filename": "", "content": "YQ=="}],
        [{"filename": "a\nb", "content": "YQ=="}],
        [{"filename": "a.pdf"}],
        [{"filename": "a.pdf", "content": "not base64"}],
        [{"filename": "a.pdf", "content": "YQ"}],
        [{"filename": "a.pdf", "content": "ä"}],
        [{"filename": "a.pdf", "content": "YQ==", "content_type": "pdf"}],
        [{"filename": "a.pdf", "content": "YQ==", "content_type": "a/b\r\nX: y"}],
    ],
)
def test_a_malformed_attachment_is_refused(hand_over: HandOver, attachments: object) -> None:
    assert refusal(hand_over(attachments=attachments)) == (422, "invalid_attachment")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b"\xff", b"[" * 100_000])
def test_a_body_that_is_not_a_json_object_is_refused(
    provider: SandboxProvider, body: bytes
) -> None:
    headers = {"Idempotency-Key": "key-1"}
    answer = requests.post(f"{provider.url}/messages", data=body, headers=headers, timeout=20)
    assert refusal(answer) == (400, "invalid_json")


def test_a_body_over_40_mb_is_refused(provider: SandboxProvider) -> None:
    body = b"x" * (40 * 1024 * 1024 + 1)
    headers = {"Idempotency-Key": "key-1"}
    answer = requests.post(f"{provider.url}/messages", data=body, headers=headers, timeout=20)
    assert refusal(answer) == (413, "payload_too_large")


def test_the_list_tells_all_but_the_contents(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    message_id = hand_over("key-1").json()["id"]
    [listed] = requests.get(f"{provider.url}/messages", timeout=20).json()
    received_at = datetime.fromisoformat(listed.pop("received_at"))
    assert received_at.utcoffset() == timedelta(0)
    assert listed == {
        "id": message_id,
        "idempotency_key": "key-1",
        "from": "Acme <billing@acme.example>",
        "to": "ann@customer.example",
        "subject": "Invoice 2026-001",
        "headers": {"X-Correlation-ID": "c-1"},
        "attachments": [{"filename": "invoice.pdf", "content_type": "application/pdf", "size": 8}],
        "hand_overs": 1,
    }


def test_one_message_is_given_whole(provider: SandboxProvider, hand_over: HandOver) -> None:
    message_id = hand_over("key-1").json()["id"]
    whole = requests.get(f"{provider.url}/messages/{message_id}", timeout=20).json()
    assert whole["id"] == message_id
    assert (whole["text"], whole["html"]) == ("Please pay.", "<p>Please pay.</p>")
    assert base64.b64decode(whole["attachments"][0]["content"]) == b"%PDF-1.7"


def test_an_unknown_message_is_not_found(provider: SandboxProvider) -> None:
    answer = requests.get(f"{provider.url}/messages/msg_1", timeout=20)
    assert refusal(answer) == (404, "not_found")


def test_the_list_is_newest_first_and_can_be_narrowed(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    hand_over("key-1", to=["Ann <Ann@customer.example>", "bob@customer.example"])
    hand_over("key-2", cc="ann@customer.example", to="carol@customer.example")
    hand_over("key-3", to="carol@customer.example")

    def keys(query: str) -> list[str]:
        answer = requests.get(f"{provider.url}/messages{query}", timeout=20)
        return [listed["idempotency_key"] for listed in answer.json()]

    assert keys("") == ["key-3", "key-2", "key-1"]
    assert keys("?limit=2") == ["key-3", "key-2"]
    assert keys("?key=key-1") == ["key-1"]
    assert keys("?to=ann@customer.example") == ["key-2", "key-1"]
    assert keys("?to=ann@customer.example&limit=1") == ["key-2"]
    assert keys("?to=customer.example") == []


def test_a_limit_that_is_no_number_is_refused(provider: SandboxProvider) -> None:
    answer = requests.get(f"{provider.url}/messages?limit=-1", timeout=20)
    assert answer.status_code == 422
