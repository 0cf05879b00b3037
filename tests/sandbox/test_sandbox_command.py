"""The sandbox as a process: `python -m deliveries.sandbox` and the management command."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from deliveries.sandbox import SandboxProvider

Launch = Callable[..., subprocess.Popen[str]]
UrlOf = Callable[[subprocess.Popen[str]], str]

ROOT = Path(__file__).parents[2]
# The command with the barest of settings: no database, no apps.
COMMAND = """
import sys
from django.conf import settings
settings.configure(INSTALLED_APPS=[])
from deliveries.management.commands.run_sandbox_provider import Command
Command().run_from_argv(["manage.py", "run_sandbox_provider", *sys.argv[1:]])
"""

pytestmark = [pytest.mark.process, pytest.mark.thorough]


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly_even_while_a_request_hangs(
    launch: Launch,
    url_of: UrlOf,
    number: signal.Signals,
    eventually: Callable[[Callable[[], object]], None],
) -> None:
    process = launch()
    url = url_of(process)
    requests.put(f"{url}/faults", json={"hang_next": 1}, timeout=20)
    with requests.Session() as session:
        with pytest.raises(requests.Timeout):
            session.post(f"{url}/messages", data="{}", timeout=0.1)
        process.send_signal(number)
        assert process.wait(20) == 0
    assert process.communicate(timeout=20) == ("", "")


def test_the_command_serves_until_sigterm(url_of: UrlOf) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "--port", "0", "--api-key", "secret"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = url_of(process)
        answer = requests.post(f"{url}/messages", data="{}", timeout=20)
        assert answer.status_code == 401
        process.terminate()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate(timeout=20)


def test_a_taken_port_is_reported(provider: SandboxProvider) -> None:
    done = run_command("--port", provider.url.rsplit(":", 1)[1])
    assert done.returncode == 1
    assert f"Cannot listen on {provider.url}: Address already in use." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_data_directory_in_use_is_reported(tmp_path: Path) -> None:
    with SandboxProvider(tmp_path):
        done = run_command("--port", "0", "--data", str(tmp_path))
    assert done.returncode == 1
    assert "is in use by another sandbox provider" in done.stderr


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_port_that_is_none_is_a_usage_error(port: str) -> None:
    done = run_command("--port", port)
    assert done.returncode == 2
    assert "is not a port: 0 to 65535" in done.stderr


def test_its_help_teaches_with_examples() -> None:
    done = run_command("--help")
    assert done.returncode == 0
    assert "curl http://127.0.0.1:8025/messages" in done.stdout
    assert "--data DIR" in done.stdout
