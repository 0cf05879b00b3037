"""Each fault switch does what it says, exactly as often as it says."""

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import requests

from deliveries.sandbox import InvalidSwitch, SandboxProvider

HandOver = Callable[..., requests.Response]
AtOnce = Callable[..., list[Any]]
Eventually = Callable[[Callable[[], object]], None]

ALL_OFF: dict[str, Any] = {
    "fail_next": None,
    "delay_ms": 0,
    "drip": None,
    "hang_next": 0,
    "hang_after_accept_next": 0,
    "drop_before_next": 0,
    "drop_after_accept_next": 0,
    "cut_mid_answer_next": 0,
    "redirect_next": 0,
    "html_200_next": 0,
    "down": False,
    "fail_addresses": [],
    "random_failure": None,
}


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (401, "invalid_api_key"),
        (402, "quota_exceeded"),
        (429, "rate_limited"),
        (500, "unavailable"),
        (503, "unavailable"),
        (599, "unavailable"),
    ],
)
def test_the_next_ones_fail_with_the_status_asked_for(
    provider: SandboxProvider, hand_over: HandOver, status: int, name: str
) -> None:
    provider.faults.set(fail_next={"status": status, "count": 2})
    answers = [hand_over("key-1") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [status, status, 200]
    assert answers[0].json()["error"]["name"] == name
    assert answers[2].json()["replayed"] is False


@pytest.mark.parametrize(
    ("retry_after", "header"),
    [(7, "7"), (0.5, "0.5"), ("Wed, 21 Oct 2026 07:28:00 GMT",) * 2, ("soon", "soon")],
)
def test_a_failure_can_say_when_to_come_back(
    provider: SandboxProvider, hand_over: HandOver, retry_after: object, header: str
) -> None:
    provider.faults.set(fail_next={"status": 429, "retry_after": retry_after})
    assert hand_over().headers["Retry-After"] == header


def test_a_failure_can_have_another_name(provider: SandboxProvider, hand_over: HandOver) -> None:
    provider.faults.set(fail_next={"status": 429, "name": "quota_exceeded"})
    answer = hand_over()
    assert answer.json()["error"]["name"] == "quota_exceeded"
    assert "Retry-After" not in answer.headers


def test_faults_are_exact_when_many_come_at_once(
    provider: SandboxProvider, hand_over: HandOver, at_once: AtOnce
) -> None:
    provider.faults.set(
        fail_next={"status": 503, "count": 5}, html_200_next=4, drop_before_next=3, redirect_next=2
    )
    answers = at_once(20, lambda number: hand_over(f"key-{number}"))
    dropped = [answer for answer in answers if isinstance(answer, Exception)]
    statuses = Counter(answer.status_code for answer in answers if answer not in dropped)
    assert len(dropped) == 3
    assert statuses == {503: 5, 307: 2, 200: 10}
    assert len(provider.messages()) == 6
    assert provider.stats()["faulted"] == 14
    assert provider.faults.snapshot() == ALL_OFF


def test_faults_after_acceptance_are_exact_when_many_come_at_once(
    provider: SandboxProvider, hand_over: HandOver, at_once: AtOnce
) -> None:
    provider.faults.set(drop_after_accept_next=6, cut_mid_answer_next=5)
    answers = at_once(20, lambda number: hand_over(f"key-{number}"))
    assert len([answer for answer in answers if isinstance(answer, Exception)]) == 11
    assert len(provider.messages()) == 20
    assert provider.stats()["faulted"] == 11


def test_while_it_is_down_everything_fails(provider: SandboxProvider, hand_over: HandOver) -> None:
    provider.faults.set(down=True)
    assert [hand_over().status_code for _ in range(3)] == [503] * 3
    provider.faults.clear()
    assert hand_over().status_code == 200


def test_a_slow_provider_takes_its_time(provider: SandboxProvider, hand_over: HandOver) -> None:
    provider.faults.set(delay_ms=200)
    began = time.monotonic()
    assert hand_over().status_code == 200
    assert time.monotonic() - began >= 0.2


def test_a_message_is_accepted_although_its_client_gave_up_waiting(
    provider: SandboxProvider, abandon: Eventually, eventually: Eventually
) -> None:
    provider.faults.set(delay_ms=300)
    abandon(lambda: provider.stats()["in_flight"] == 1)
    eventually(lambda: len(provider.messages()) == 1)


@pytest.mark.thorough
def test_a_dripping_answer_never_runs_into_a_read_timeout(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    provider.faults.set(drip={"interval_ms": 1})
    began = time.monotonic()
    answer = hand_over("key-1", timeout=5)
    assert answer.json()["replayed"] is False
    assert time.monotonic() - began > 0.2


@pytest.mark.thorough
def test_a_dripping_answer_is_in_flight_until_its_end(
    provider: SandboxProvider,
    hand_over: HandOver,
    at_once: AtOnce,
) -> None:
    provider.faults.set(drip={"interval_ms": 3})
    at_once(3, lambda number: hand_over(f"key-{number}"))
    assert provider.stats()["max_in_flight"] == 3


@pytest.mark.thorough
def test_a_hanging_request_is_not_stored(
    provider: SandboxProvider, hand_over: HandOver, abandon: Eventually
) -> None:
    provider.faults.set(hang_next=1)
    abandon(lambda: provider.stats()["faulted"] == 1)
    assert provider.messages() == []
    assert hand_over("key-1").json()["replayed"] is False


def test_a_hang_after_acceptance_is_stored(
    provider: SandboxProvider, abandon: Eventually, eventually: Eventually
) -> None:
    provider.faults.set(hang_after_accept_next=1)
    abandon(lambda: len(provider.messages()) == 1)
    eventually(lambda: provider.stats()["in_flight"] == 0)


@pytest.mark.thorough
def test_a_hanging_request_gets_no_answer(provider: SandboxProvider, hand_over: HandOver) -> None:
    provider.faults.set(hang_after_accept_next=1)
    with pytest.raises(requests.ReadTimeout):
        hand_over("key-1", timeout=0.5)
    assert hand_over("key-1").json()["replayed"] is True


@pytest.mark.thorough
def test_a_hanging_request_ends_when_its_client_leaves(
    provider: SandboxProvider, abandon: Eventually, eventually: Eventually
) -> None:
    provider.faults.set(hang_next=1)
    abandon(lambda: provider.stats()["in_flight"] == 1)
    eventually(lambda: provider.stats()["in_flight"] == 0)


def test_a_drop_before_handling_is_not_stored(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    provider.faults.set(drop_before_next=1)
    with pytest.raises(requests.ConnectionError):
        hand_over("key-1")
    assert provider.messages() == []


def test_a_drop_after_acceptance_is_stored(provider: SandboxProvider, hand_over: HandOver) -> None:
    provider.faults.set(drop_after_accept_next=1)
    with pytest.raises(requests.ConnectionError):
        hand_over("key-1")
    assert hand_over("key-1").json() == {"id": provider.messages()[0]["id"], "replayed": True}


def test_the_second_hand_over_can_be_dropped_too(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    provider.faults.set(drop_after_accept_next=2)
    for _ in range(2):
        with pytest.raises(requests.ConnectionError):
            hand_over("key-1")
    assert hand_over("key-1").json()["replayed"] is True


def test_a_refused_message_does_not_use_up_a_fault_after_acceptance(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    provider.faults.set(drop_after_accept_next=1)
    assert hand_over("key-1", to="nobody").status_code == 422
    assert provider.faults.snapshot()["drop_after_accept_next"] == 1


def test_an_answer_cut_in_the_middle_is_stored(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    provider.faults.set(cut_mid_answer_next=1)
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="IncompleteRead"):
        hand_over("key-1")
    assert hand_over("key-1").json()["replayed"] is True


def test_a_redirect_is_not_stored(provider: SandboxProvider, hand_over: HandOver) -> None:
    provider.faults.set(redirect_next=1)
    answer = hand_over("key-1")
    assert (answer.status_code, answer.headers["Location"]) == (307, "/messages")
    assert provider.messages() == []


def test_a_proxys_page_says_200_but_stores_nothing(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    provider.faults.set(html_200_next=1)
    answer = hand_over("key-1")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert provider.messages() == []


def test_addresses_can_be_made_to_fail(provider: SandboxProvider, hand_over: HandOver) -> None:
    provider.faults.set(fail_addresses=["Ann@Customer.example"])
    answer = hand_over("key-1", to="Ann Lee <ann@customer.example>")
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, "invalid_address")
    assert hand_over("key-2", to="bob@customer.example").status_code == 200


def test_random_failures_are_the_same_for_the_same_seed(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    def statuses() -> list[int]:
        provider.faults.set(random_failure={"rate": 0.4, "seed": 7})
        return [hand_over().status_code for _ in range(20)]

    first = statuses()
    assert set(first) == {200, 503}
    assert statuses() == first


def test_switches_are_read_and_set_over_http(provider: SandboxProvider) -> None:
    url = f"{provider.url}/faults"
    assert requests.get(url, timeout=20).json() == ALL_OFF
    wanted = {"fail_next": {"status": 429, "count": 3, "retry_after": 9}, "hang_next": 2}
    answer = requests.put(url, json=wanted, timeout=20)
    fail = {"status": 429, "count": 3, "retry_after": 9, "name": "rate_limited"}
    assert answer.json() == {**ALL_OFF, "fail_next": fail, "hang_next": 2}
    assert requests.put(url, json=answer.json(), timeout=20).json() == answer.json()
    assert requests.delete(url, timeout=20).json() == ALL_OFF


def test_putting_replaces_all_switches_and_adding_does_not(provider: SandboxProvider) -> None:
    provider.faults.set(down=True)
    provider.faults.add(delay_ms=5)
    assert provider.faults.snapshot() == {**ALL_OFF, "down": True, "delay_ms": 5}
    requests.put(f"{provider.url}/faults", json={"hang_next": 1}, timeout=20)
    assert provider.faults.snapshot() == {**ALL_OFF, "hang_next": 1}


@pytest.mark.parametrize(
    "switches",
    [
        {"fail_nxt": 1},
        {"self": 1},
        {"fail_next": 503},
        {"fail_next": {}},
        {"fail_next": {"status": 200}},
        {"fail_next": {"status": 503, "times": 2}},
        {"fail_next": {"status": 503, "count": -1}},
        {"fail_next": {"status": 503, "count": True}},
        {"fail_next": {"status": 503, "retry_after": "1\r\nX: y"}},
        {"fail_next": {"status": 503, "retry_after": -1}},
        {"fail_next": {"status": 503, "name": "oops"}},
        {"delay_ms": "1"},
        {"delay_ms": -1},
        {"delay_ms": float("nan")},
        {"drip": 5},
        {"drip": {}},
        {"hang_next": 1.5},
        {"hang_next": None},
        {"down": 1},
        {"fail_addresses": "ann@customer.example"},
        {"fail_addresses": [1]},
        {"random_failure": {"rate": 1.1}},
        {"random_failure": {"seed": 7}},
        {"random_failure": {"rate": 0.1, "seed": "x"}},
    ],
)
def test_nonsense_switches_are_refused_and_change_nothing(
    provider: SandboxProvider, switches: dict[str, Any]
) -> None:
    provider.faults.set(delay_ms=1)
    # json.dumps writes NaN, which `requests` itself would refuse to.
    answer = requests.put(f"{provider.url}/faults", data=json.dumps(switches), timeout=20)
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, "invalid_fault")
    assert provider.faults.snapshot() == {**ALL_OFF, "delay_ms": 1}


def test_an_unknown_switch_is_named_with_the_known_ones(provider: SandboxProvider) -> None:
    with pytest.raises(InvalidSwitch, match=r"fail_nxt.*There are: .*fail_next"):
        provider.faults.set(fail_nxt=1)


def test_switches_that_are_no_object_are_refused(provider: SandboxProvider) -> None:
    answer = requests.put(f"{provider.url}/faults", data="[]", timeout=20)
    assert (answer.status_code, answer.json()["error"]["name"]) == (400, "invalid_json")
