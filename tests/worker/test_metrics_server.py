"""A worker's own metrics: where they are served, and to whom."""

import threading
from collections.abc import Callable, Iterator
from wsgiref.simple_server import WSGIServer

import pytest
import requests
from django.conf import settings

from deliveries import metrics, metrics_server

Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[WSGIServer] = []

    def start(address: str = "127.0.0.1", token: str = "") -> str:
        server = metrics_server.start(address, 0, token=token)
        servers.append(server)
        host = f"[{address}]" if ":" in address else address
        return f"http://{host}:{server.server_port}/metrics"

    yield start
    for server in servers:
        # Without waiting for it: it looks for its end every half a second.
        threading.Thread(target=server.shutdown).start()
        server.server_close()


def test_counters_are_served(serve: Serve) -> None:
    metrics.begin_at_zero()
    answer = requests.get(serve(), timeout=20)
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert 'deliveries_attempts_total{kind="invoice",outcome="sent"}' in answer.text


def test_an_address_of_ipv6_is_one_as_well(serve: Serve) -> None:
    assert requests.get(serve("::1"), timeout=20).status_code == 200


@pytest.mark.parametrize(
    ("credentials", "status"),
    [
        ("Bearer correct horse", 200),
        ("bearer  correct horse", 200),
        *[("", 401), ("Bearer", 401), ("Bearer wrong", 401), ("Basic correct horse", 401)],
        ("Bearer ¥€".encode().decode("latin-1"), 401),
    ],
)
def test_with_a_token_everybody_needs_it(serve: Serve, credentials: str, status: int) -> None:
    url = serve(token="correct horse")
    answer = requests.get(url, headers={"Authorization": credentials.encode()}, timeout=20)
    assert answer.status_code == status
    assert ("deliveries_" in answer.text) is (status == 200)


def test_the_port_is_open_to_this_machine_alone_unless_told_otherwise() -> None:
    assert settings.WORKER_METRICS_ADDRESS == "127.0.0.1"
