"""Idempotency: one key, one message, whatever happens at once."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import requests

from deliveries.sandbox import SandboxProvider

HandOver = Callable[..., requests.Response]


def error_name(answer: requests.Response) -> str:
    name: str = answer.json()["error"]["name"]
    return name


def test_a_message_is_accepted_with_an_id(provider: SandboxProvider, hand_over: HandOver) -> None:
    answer = hand_over("key-1")
    assert answer.status_code == 200
    assert answer.json() == {"id": provider.messages()[0]["id"], "replayed": False}


def test_the_same_key_and_body_give_the_same_id_and_no_second_message(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    first = hand_over("key-1").json()
    second = hand_over("key-1")
    assert (second.status_code, second.json()) == (200, {"id": first["id"], "replayed": True})
    assert len(provider.messages()) == 1


def test_the_same_key_with_another_body_is_refused(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    hand_over("key-1")
    answer = hand_over("key-1", subject="Another")
    assert (answer.status_code, error_name(answer)) == (409, "idempotency_key_reused")
    assert [kept["subject"] for kept in provider.messages()] == ["Invoice 2026-001"]


def test_the_same_content_in_other_bytes_is_another_body(
    provider: SandboxProvider, hand_over: HandOver, message: dict[str, Any]
) -> None:
    hand_over("key-1")
    answer = requests.post(
        f"{provider.url}/messages",
        data=json.dumps(message, indent=1),
        headers={"Idempotency-Key": "key-1"},
        timeout=20,
    )
    assert error_name(answer) == "idempotency_key_reused"


def test_another_key_with_the_same_body_is_another_message(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    hand_over("key-1")
    hand_over("key-2")
    assert [kept["idempotency_key"] for kept in provider.messages()] == ["key-2", "key-1"]


@pytest.mark.thorough
def test_a_key_that_is_being_handled_is_in_progress(
    provider: SandboxProvider,
    hand_over: HandOver,
    at_once: Callable[..., list[Any]],
) -> None:
    provider.faults.set(delay_ms=1000)
    answers = at_once(2, lambda _: hand_over("key-1"))
    by_status = {answer.status_code: answer for answer in answers}
    assert set(by_status) == {200, 409}
    assert error_name(by_status[409]) == "in_progress"


def test_twenty_threads_with_one_key_leave_one_message(
    provider: SandboxProvider, hand_over: HandOver, at_once: Callable[..., list[Any]]
) -> None:
    answers = at_once(20, lambda _: hand_over("key-1"))
    accepted = [answer.json() for answer in answers if answer.status_code == 200]
    assert len([answer for answer in accepted if not answer["replayed"]]) == 1
    assert len({answer["id"] for answer in accepted}) == 1
    assert {error_name(one) for one in answers if one.status_code != 200} <= {"in_progress"}
    assert [kept["hand_overs"] for kept in provider.messages()] == [20]


def test_twenty_threads_with_twenty_bodies_under_one_key_leave_one_message(
    provider: SandboxProvider, hand_over: HandOver, at_once: Callable[..., list[Any]]
) -> None:
    answers = at_once(20, lambda number: hand_over("key-1", subject=f"Number {number}"))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 19}
    assert len(provider.messages()) == 1


def test_a_refused_message_leaves_its_key_free(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    assert hand_over("key-1", to="nobody").status_code == 422
    assert hand_over("key-1").json()["replayed"] is False


def test_every_hand_over_of_a_key_is_counted(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    provider.faults.set(fail_next={"status": 503, "count": 2})
    for _ in range(4):
        hand_over("key-1")
    assert provider.messages()[0]["hand_overs"] == 4


def test_a_missing_key_is_refused(provider: SandboxProvider, message: dict[str, Any]) -> None:
    answer = requests.post(f"{provider.url}/messages", json=message, timeout=20)
    assert (answer.status_code, error_name(answer)) == (400, "missing_idempotency_key")


@pytest.mark.parametrize("key", ["has a space", "k" * 257, "tab\there", b"\xff"])
def test_a_malformed_key_is_refused(hand_over: HandOver, key: str) -> None:
    answer = hand_over(key)
    assert (answer.status_code, error_name(answer)) == (400, "invalid_idempotency_key")


def test_emptying_the_inbox_forgets_keys(provider: SandboxProvider, hand_over: HandOver) -> None:
    first = hand_over("key-1").json()
    answer = requests.delete(f"{provider.url}/messages", timeout=20)
    assert answer.json() == {"deleted": 1}
    assert provider.messages() == []
    second = hand_over("key-1").json()
    assert second["replayed"] is False
    assert second["id"] != first["id"]
    assert provider.messages()[0]["hand_overs"] == 1
