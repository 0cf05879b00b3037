import base64
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from deliveries.sandbox import SandboxProvider

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 20

Condition = Callable[[], object]


@pytest.fixture
def provider() -> Iterator[SandboxProvider]:
    with SandboxProvider() as running:
        yield running


@pytest.fixture
def message() -> dict[str, Any]:
    return {
        "from": "Acme <billing@acme.example>",
        "to": "ann@customer.example",
        "subject": "Invoice 2026-001",
        "text": "Please pay.",
        "html": "<p>Please pay.</p>",
        "headers": {"X-Correlation-ID": "c-1"},
        "attachments": [
            {
                "filename": "invoice.pdf",
                "content_type": "application/pdf",
                "content": base64.b64encode(b"%PDF-1.7").decode(),
            }
        ],
    }


@pytest.fixture
def hand_over(
    provider: SandboxProvider, message: dict[str, Any]
) -> Callable[..., requests.Response]:
    """POST the message under a key, some fields changed; None takes a field away."""

    def post(key: str = "key-1", *, timeout: float = PATIENCE_SECONDS, **changes: Any) -> Any:
        changed = {
            name: value for name, value in {**message, **changes}.items() if value is not None
        }
        return requests.post(
            f"{provider.url}/messages",
            data=json.dumps(changed),
            headers={"Idempotency-Key": key},
            timeout=timeout,
            allow_redirects=False,
        )

    return post


@pytest.fixture
def at_once() -> Callable[[int, Callable[[int], Any]], list[Any]]:
    """Call a function with 0..n-1 in n threads that start together; return results or errors."""

    def run(count: int, call: Callable[[int], Any]) -> list[Any]:
        ready = threading.Barrier(count)

        def one(number: int) -> Any:
            ready.wait(PATIENCE_SECONDS)
            try:
                return call(number)
            except requests.RequestException as error:
                return error

        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(one, range(count)))

    return run


@pytest.fixture
def eventually() -> Callable[[Condition], None]:
    """Wait until the condition holds, or fail."""

    def wait(condition: Condition) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        pause = threading.Event()
        while not condition():
            assert time.monotonic() < deadline, "the condition did not come true"
            pause.wait(0.01)

    return wait


@pytest.fixture
def abandon(
    provider: SandboxProvider, message: dict[str, Any], eventually: Callable[[Condition], None]
) -> Callable[[Condition], None]:
    """Hand the message over under key-1, wait for the condition, leave without an answer."""

    def post_and_leave(condition: Condition) -> None:
        host, port = provider.url.removeprefix("http://").split(":")
        body = json.dumps(message).encode()
        head = f"POST /messages HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: key-1\r\n"
        with socket.create_connection((host, int(port)), PATIENCE_SECONDS) as connection:
            connection.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            eventually(condition)

    return post_and_leave


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Run the sandbox as a process on a free port; url_of() says where."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "deliveries.sandbox", "--port", "0", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


@pytest.fixture
def url_of() -> Callable[[subprocess.Popen[str]], str]:
    """Read the line that a process prints once it listens; return the base URL in it."""

    def read(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Sandbox e-mail provider: http://127.0.0.1:"), line
        return line.split()[3].rstrip("/")

    return read
