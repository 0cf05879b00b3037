"""The HTTP side: connections, counting, the API key, starting and stopping."""

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
import requests

from deliveries.sandbox import SandboxProvider

HandOver = Callable[..., requests.Response]
Eventually = Callable[[Callable[[], object]], None]


def test_healthz_says_ok(provider: SandboxProvider) -> None:
    answer = requests.get(f"{provider.url}/healthz", timeout=20)
    assert (answer.status_code, answer.text.strip()) == (200, "ok")


@pytest.mark.parametrize("path", ["/nothing", "/messages/a/b", "/inbox/", "/inbox/a/attachments/x"])
def test_an_unknown_path_is_not_found(provider: SandboxProvider, path: str) -> None:
    answer = requests.get(provider.url + path, timeout=20)
    assert (answer.status_code, answer.json()["error"]["name"]) == (404, "not_found")


def test_a_wrong_method_is_told_the_right_ones(provider: SandboxProvider) -> None:
    answer = requests.put(f"{provider.url}/messages", timeout=20)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "DELETE, GET, POST")


def test_one_connection_serves_many_requests_refused_ones_too(
    provider: SandboxProvider, message: dict[str, Any]
) -> None:
    with requests.Session() as session:
        for status in (200, 400, 200):
            headers = {"Idempotency-Key": "key-1"} if status == 200 else {}
            answer = session.post(
                f"{provider.url}/messages", json=message, headers=headers, timeout=20
            )
            assert answer.status_code == status
            assert answer.headers["Connection"] == "keep-alive"


def test_chunks_and_nonsense_lengths_are_refused(provider: SandboxProvider) -> None:
    host, port = provider.url.removeprefix("http://").split(":")
    for header, status in (
        (b"Transfer-Encoding: chunked", b"411"),
        (b"Content-Length: -1", b"400"),
        (b"Content-Length: x", b"400"),
    ):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(b"POST /messages HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n\r\n")
            assert connection.makefile("rb").readline().split()[1] == status


def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_no_message(
    provider: SandboxProvider, eventually: Eventually
) -> None:
    host, port = provider.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(
            b"POST /messages HTTP/1.1\r\nHost: x\r\nIdempotency-Key: key-1\r\n"
            b"Content-Length: 1000\r\n\r\n{"
        )
        eventually(lambda: provider.stats()["in_flight"] == 1)
    eventually(lambda: provider.stats()["in_flight"] == 0)
    assert provider.messages() == []


@pytest.mark.thorough
def test_hand_overs_at_once_are_counted(
    provider: SandboxProvider, hand_over: HandOver, at_once: Callable[..., list[Any]]
) -> None:
    provider.faults.set(delay_ms=500)
    at_once(7, lambda number: hand_over(f"key-{number}"))
    assert provider.stats() == {
        "in_flight": 0,
        "max_in_flight": 7,
        "requests": 7,
        "accepted": 7,
        "replayed": 0,
        "refused": 0,
        "faulted": 0,
    }


def test_clients_that_wait_for_each_answer_are_never_counted_twice(
    provider: SandboxProvider, hand_over: HandOver, at_once: Callable[..., list[Any]]
) -> None:
    at_once(5, lambda number: [hand_over(f"{number}-{again}") for again in range(20)])
    assert provider.stats()["accepted"] == 100
    assert provider.stats()["max_in_flight"] <= 5


@pytest.mark.thorough
def test_a_client_that_gave_up_on_a_hanging_request_is_not_counted_twice(
    provider: SandboxProvider, hand_over: HandOver, abandon: Eventually
) -> None:
    for _ in range(5):
        provider.reset_stats()
        provider.faults.set(hang_next=1)
        abandon(lambda: provider.stats()["faulted"] == 1)
        hand_over("key-1")
        assert provider.stats()["max_in_flight"] == 1


def test_each_outcome_is_counted(provider: SandboxProvider, hand_over: HandOver) -> None:
    hand_over("key-1")
    hand_over("key-1")
    hand_over("key-1", subject="Another")
    provider.faults.set(down=True)
    hand_over("key-2")
    stats = requests.get(f"{provider.url}/stats", timeout=20).json()
    assert stats == {
        "in_flight": 0,
        "max_in_flight": 1,
        "requests": 4,
        "accepted": 1,
        "replayed": 1,
        "refused": 1,
        "faulted": 1,
    }


def test_counting_starts_anew_when_told(provider: SandboxProvider, hand_over: HandOver) -> None:
    hand_over("key-1")
    stats = requests.post(f"{provider.url}/stats/reset", timeout=20).json()
    assert set(stats.values()) == {0}
    assert len(provider.messages()) == 1


def test_looking_at_the_inbox_is_no_hand_over(provider: SandboxProvider) -> None:
    requests.get(f"{provider.url}/messages", timeout=20)
    requests.delete(f"{provider.url}/messages", timeout=20)
    assert provider.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "right"}, 401),
        ({"Authorization": "Bearer right"}, 200),
    ],
)
def test_only_the_api_key_hands_over_where_there_is_one(
    message: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    with SandboxProvider(api_key="right") as provider:
        answer = requests.post(
            f"{provider.url}/messages",
            json=message,
            headers={"Idempotency-Key": "key-1", **headers},
            timeout=20,
        )
        assert answer.status_code == status
        assert len(provider.messages()) == (status == 200)


def test_stopping_ends_kept_alive_connections_and_frees_the_port(
    provider: SandboxProvider,
) -> None:
    with requests.Session() as session:
        session.get(f"{provider.url}/healthz", timeout=20)
        provider.stop()
        with pytest.raises(requests.ConnectionError):
            session.get(f"{provider.url}/healthz", timeout=20)


def test_it_starts_again_on_its_port_with_its_messages(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    first, url = hand_over("key-1").json(), provider.url
    provider.stop()
    provider.start()
    assert provider.url == url
    assert hand_over("key-1").json() == {"id": first["id"], "replayed": True}


def test_stopping_does_not_wait_for_a_hanging_request(
    provider: SandboxProvider, hand_over: HandOver, eventually: Eventually
) -> None:
    provider.faults.set(hang_next=1)
    errors: list[requests.ConnectionError] = []

    def wait_for_an_answer() -> None:
        with pytest.raises(requests.ConnectionError) as caught:
            hand_over("key-1")
        errors.append(caught.value)

    client = threading.Thread(target=wait_for_an_answer)
    client.start()
    eventually(lambda: provider.stats()["in_flight"] == 1)
    provider.stop()
    client.join(20)
    assert len(errors) == 1


def test_stopping_twice_is_harmless(provider: SandboxProvider) -> None:
    provider.stop()
    provider.stop()


def test_two_providers_cannot_share_a_port(provider: SandboxProvider) -> None:
    port = int(provider.url.rsplit(":", 1)[1])
    with pytest.raises(OSError, match="in use"):
        SandboxProvider(port=port).start()
