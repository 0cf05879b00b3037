"""Accepted messages and keys outlive the process, however it ends."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from deliveries.sandbox import SandboxProvider, StoreError

pytestmark = pytest.mark.thorough

Launch = Callable[..., subprocess.Popen[str]]
UrlOf = Callable[[subprocess.Popen[str]], str]


def post(url: str, key: str, message: dict[str, Any], **changes: Any) -> requests.Response:
    return requests.post(
        f"{url}/messages",
        json={**message, **changes},
        headers={"Idempotency-Key": key},
        timeout=20,
    )


@pytest.mark.process
def test_accepted_messages_and_keys_survive_sigkill(
    tmp_path: Path, launch: Launch, url_of: UrlOf, message: dict[str, Any]
) -> None:
    process = launch("--data", str(tmp_path))
    first = post(url_of(process), "key-1", message).json()
    process.kill()
    process.wait(20)
    url = url_of(launch("--data", str(tmp_path)))
    assert post(url, "key-1", message).json() == {"id": first["id"], "replayed": True}
    assert post(url, "key-1", message, subject="Another").status_code == 409
    whole = requests.get(f"{url}/messages/{first['id']}", timeout=20).json()
    assert whole["attachments"][0]["content"] == message["attachments"][0]["content"]


@pytest.mark.process
def test_whatever_was_answered_before_sigkill_is_there_after_it(
    tmp_path: Path,
    launch: Launch,
    url_of: UrlOf,
    message: dict[str, Any],
    at_once: Callable[..., list[Any]],
) -> None:
    process = launch("--data", str(tmp_path))
    url = url_of(process)

    def post_until_killed(number: int) -> dict[str, str]:
        answered = {}
        try:
            for again in range(10_000):
                key = f"{number}-{again}"
                answered[key] = post(url, key, message).json()["id"]
                if (number, again) == (0, 20):
                    process.kill()
        except requests.RequestException:
            return answered
        raise AssertionError("the process was not killed")

    answered = {}
    for part in at_once(5, post_until_killed):
        answered.update(part)
    with SandboxProvider(tmp_path) as provider:
        kept = {one["idempotency_key"]: one["id"] for one in provider.messages()}
    assert answered.items() <= kept.items()


@pytest.mark.process
def test_a_second_process_on_one_data_directory_is_refused(
    tmp_path: Path, launch: Launch, url_of: UrlOf
) -> None:
    first = launch("--data", str(tmp_path))
    url_of(first)
    second = launch("--data", str(tmp_path))
    _, complaint = second.communicate(timeout=20)
    assert second.returncode == 1
    assert f"{tmp_path} is in use by another sandbox provider (process {first.pid})" in complaint


def test_a_second_provider_on_one_data_directory_is_refused(tmp_path: Path) -> None:
    with (
        SandboxProvider(tmp_path),
        pytest.raises(StoreError, match="in use by another"),
    ):
        SandboxProvider(tmp_path).start()
    with SandboxProvider(tmp_path):
        pass


def test_order_and_hand_overs_survive_a_restart(tmp_path: Path, message: dict[str, Any]) -> None:
    provider = SandboxProvider(tmp_path)
    with provider:
        for key in ("key-3", "key-1", "key-2", "key-1", "key-1"):
            post(provider.url, key, message)
        before = provider.messages()
    with provider:
        assert provider.messages() == before
        post(provider.url, "key-0", message)
        listed = [(one["idempotency_key"], one["hand_overs"]) for one in provider.messages()]
    assert listed == [("key-0", 1), ("key-2", 1), ("key-1", 3), ("key-3", 1)]


def test_an_emptied_inbox_stays_empty(tmp_path: Path, message: dict[str, Any]) -> None:
    with SandboxProvider(tmp_path) as provider:
        for _ in range(2):
            post(provider.url, "key-1", message)
        provider.clear()
    with SandboxProvider(tmp_path) as provider:
        assert provider.messages() == []
        assert post(provider.url, "key-1", message).json()["replayed"] is False
        assert provider.messages()[0]["hand_overs"] == 1
    assert sorted(path.suffix for path in tmp_path.iterdir()) == ["", ".json"]


def test_half_written_files_are_swept_away(tmp_path: Path) -> None:
    (tmp_path / "abc.tmp").write_text('{"id": ')
    with SandboxProvider(tmp_path) as provider:
        assert provider.messages() == []
    assert not (tmp_path / "abc.tmp").exists()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"hand_overs": 1}'])
def test_an_unreadable_message_is_not_passed_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "abc.json").write_text(content)
    with pytest.raises(StoreError):
        SandboxProvider(tmp_path).start()
    (tmp_path / "abc.json").unlink()
    with SandboxProvider(tmp_path):
        pass


def test_a_data_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Cannot use the data directory"):
        SandboxProvider(tmp_path / "file" / "data").start()


def test_a_message_that_cannot_be_written_is_not_accepted(
    tmp_path: Path, message: dict[str, Any]
) -> None:
    data = tmp_path / "data"
    with SandboxProvider(data) as provider:
        post(provider.url, "key-1", message)
        data.rename(tmp_path / "away")
        answer = post(provider.url, "key-2", message)
        assert (answer.status_code, answer.json()["error"]["name"]) == (503, "unavailable")
        assert len(provider.messages()) == 1
        (tmp_path / "away").rename(data)
        assert post(provider.url, "key-2", message).json()["replayed"] is False


def test_each_message_is_one_json_file(tmp_path: Path, message: dict[str, Any]) -> None:
    with SandboxProvider(tmp_path) as provider:
        post(provider.url, "key-1", message)
    [path] = tmp_path.glob("*.json")
    assert json.loads(path.read_text())["idempotency_key"] == "key-1"
