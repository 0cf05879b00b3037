"""manage.py run_delivery_worker: what it asks for, and what it says of what it cannot use."""

import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from deliveries import metrics_server
from deliveries.management.commands import run_delivery_worker
from deliveries.models import Delivery
from deliveries.sandbox import SandboxProvider as Sandbox
from deliveries.worker import Worker
from tests.worker.conftest import Request
from tests.worker.stage import is_sent, lane, status

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def run(
    transactional_db: None,
    sandbox: Sandbox,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run the command as a shell does; return its exit code and what it wrote."""
    settings.EMAIL_PROVIDER_URL = sandbox.url

    def command(*arguments: str) -> tuple[int, str, str]:
        code = 0
        try:
            run_delivery_worker.Command().run_from_argv(
                ["manage.py", "run_delivery_worker", *arguments]
            )
        except SystemExit as end:
            code = int(end.code or 0)
        written = capsys.readouterr()
        return code, written.out, written.err

    return command


def test_once_works_what_is_due_and_ends_well_every_time(
    run: Run, sandbox: Sandbox, request_delivery: Request, settings: Settings
) -> None:
    settings.DELIVERY_CONCURRENCY = 3
    wanted = [request_delivery() for _ in range(4)]
    assert run("--once")[0] == 0
    assert run("--once")[0] == 0
    assert all(is_sent(delivery) for delivery in wanted)
    assert len(sandbox.messages()) == 4
    assert lane().limit == 3


def test_the_name_stands_in_the_timeline(run: Run, waiting: Delivery) -> None:
    run("--once", "--name", "mail-1", "--threads", "1")
    assert waiting.events.get(type="sent").worker == "mail-1"


def test_help_teaches(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for words in ("--threads", "--name", "--once", "--metrics-port", "SIGTERM", "exits 0"):
        assert words in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--threads", "0"], "--threads must be from 1 to 1000."),
        (["--threads", "-1"], "--threads must be from 1 to 1000."),
        (["--threads", "many"], "argument --threads: invalid int value: 'many'"),
        (["--name", ""], "--name must have 1 to 200 printable characters."),
        (["--name", "   "], "--name must have 1 to 200 printable characters."),
        (["--name", "x" * 201], "--name must have 1 to 200 printable characters."),
        (["--metrics-port", "http"], "argument --metrics-port: invalid int value: 'http'"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(
    run: Run, waiting: Delivery, arguments: list[str], complaint: str
) -> None:
    code, _, err = run("--once", *arguments)
    assert code == 2
    assert complaint in err
    assert "Traceback" not in err
    assert not is_sent(waiting)


@pytest.mark.parametrize("port", ["99999", "-1"])
def test_a_port_that_is_none_is_refused(run: Run, port: str) -> None:
    code, _, err = run("--once", "--metrics-port", port)
    assert code in {1, 2}
    assert f"--metrics-port must be from 0 to 65535, not {port}" in err


def test_a_port_that_is_taken_is_refused(run: Run, waiting: Delivery) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = run("--once", "--metrics-port", str(port))
    assert code == 1
    assert f"--metrics-port {port} cannot be used: " in err
    assert not is_sent(waiting)


def test_an_unknown_provider_is_refused_with_the_names_of_those_there_are(
    run: Run, settings: Settings
) -> None:
    settings.EMAIL_PROVIDER = "pigeon"
    code, _, err = run("--once")
    assert code == 1
    assert "EMAIL_PROVIDER is 'pigeon'" in err
    assert "sandbox" in err
    assert "sandbox" in err


def test_metrics_are_served_where_it_is_told(
    run: Run, waiting: Delivery, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, int, str]] = []

    def start(address: str, port: int, *, token: str) -> None:
        started.append((address, port, token))

    monkeypatch.setattr(metrics_server, "start", start)
    settings.METRICS_TOKEN = "correct horse"
    run("--once", "--metrics-port", "9100")
    run("--once", "--metrics-port", "9100", "--metrics-address", "0.0.0.0")
    assert started == [
        ("127.0.0.1", 9100, "correct horse"),
        ("0.0.0.0", 9100, "correct horse"),
    ]


@pytest.mark.parametrize("address", ["", "nonsense", "127.0.0.1:80", "8.8.8.8"])
def test_an_address_that_is_not_here_is_refused(run: Run, address: str) -> None:
    code, _, err = run("--once", "--metrics-port", "0", "--metrics-address", address)
    assert code in {1, 2}
    assert "--metrics-" in err
    assert "Traceback" not in err


def test_a_signal_drains(
    sandbox: Sandbox,
    settings: Settings,
    request_delivery: Request,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.EMAIL_PROVIDER_URL = sandbox.url
    first, second = request_delivery(), request_delivery()
    start = Worker._start

    def start_and_be_interrupted(self: Worker, *args: Any) -> None:
        start(self, *args)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Worker, "_start", start_and_be_interrupted)
    call_command("run_delivery_worker", threads=1)
    assert (status(first), status(second)) == ("sent", "queued")
