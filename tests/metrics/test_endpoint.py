"""GET /metrics: for Prometheus, and for nobody else."""

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django.fixtures import Settings

from deliveries import gauges
from deliveries.models import Delivery
from tests.metrics.scraping import parsed

RIGHT = {"authorization": "Bearer correct horse"}


def test_the_ledgers_gauges_are_served(client: Client, delivery: Delivery) -> None:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert "no-store" in answer["Cache-Control"]
    samples = parsed(answer.content.decode())
    assert samples["deliveries_backlog", frozenset({("lane", "email"), ("status", "queued")})] == 1


def test_one_process_of_many_tells_nothing_of_itself(client: Client, db: None) -> None:
    text = client.get("/metrics").content.decode()
    assert all(name.startswith("deliveries_") for name, _ in parsed(text))
    assert not any(name.endswith(("_total", "_created")) for name, _ in parsed(text))


@pytest.mark.parametrize(
    ("address", "status"),
    [
        *[("127.0.0.1", 200), ("::1", 200), ("10.1.2.3", 200), ("172.17.0.1", 200)],
        *[("192.168.3.4", 200), ("fd00::7", 200), ("::ffff:10.1.2.3", 200)],
        *[("8.8.8.8", 403), ("2001:4860:4860::8888", 403), ("::ffff:8.8.8.8", 403)],
        *[("", 403), ("nonsense", 403), ("127.0.0.1, 8.8.8.8", 403)],
    ],
)
def test_without_a_token_only_the_network_nearby_may_look(
    client: Client, db: None, address: str, status: int
) -> None:
    assert client.get("/metrics", REMOTE_ADDR=address).status_code == status


@pytest.mark.parametrize(
    "header", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Via"]
)
def test_who_comes_through_a_proxy_is_not_near(client: Client, header: str) -> None:
    assert client.get("/metrics", headers={header: "127.0.0.1"}).status_code == 403


def test_with_a_token_it_opens_from_anywhere(client: Client, db: None, settings: Settings) -> None:
    settings.METRICS_TOKEN = "correct horse"
    assert client.get("/metrics", headers=RIGHT, REMOTE_ADDR="8.8.8.8").status_code == 200


@pytest.mark.parametrize(
    "credentials",
    [
        *(
            "",
            "Bearer",
            "Bearer ",
            "Bearer wrong",
            "Bearer correct",
            "Bearer correct horse battery",
        ),
        *("Basic correct horse", "Bearer ¥€\udcff".encode("utf-8", "replace").decode("latin-1")),
    ],
)
def test_any_other_token_is_refused_even_nearby(
    client: Client, settings: Settings, credentials: str
) -> None:
    settings.METRICS_TOKEN = "correct horse"
    answer = client.get("/metrics", headers={"authorization": credentials})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert "deliveries_" not in answer.content.decode()


def test_elsewhere_the_token_opens_nothing(client: Client, db: None, settings: Settings) -> None:
    settings.METRICS_TOKEN = "correct horse"
    assert client.get("/invoices", headers=RIGHT).status_code == 401


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_it_is_only_read(client: Client, method: str) -> None:
    assert getattr(client, method)("/metrics").status_code == 405


def test_a_database_that_does_not_answer_is_503_without_its_secrets(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bytes:
        raise OperationalError('connection to server at "db.internal", user "invoicehub" failed')

    monkeypatch.setattr(gauges, "render", fail)
    answer = client.get("/metrics")
    assert (answer.status_code, answer.content) == (503, b"The database does not answer.\n")
