"""`manage.py demo` as a person runs it: started, used, killed, started again."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import requests

from tests.setup.conftest import PROJECT

# The browser tests start and stop a demo too; this takes it apart.
pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(240)]

PATIENCE_SECONDS = 90


@dataclass
class Demo:
    process: subprocess.Popen[bytes]
    log: Path

    def text(self) -> str:
        return self.log.read_text()

    def says(self, pattern: str) -> str:
        """Wait until the pattern is in the output; return its first group."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.text())):
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.05)
        return found[1] if found.groups() else found[0]

    def ends(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)


Start = Callable[..., Demo]


@pytest.fixture
def demo(place: Path) -> Iterator[Start]:
    started: list[Demo] = []

    def start(*arguments: str) -> Demo:
        log = place / f"log-{len(started)}"
        own = {"EMBEDDED_POSTGRES_DIR": str(place / "postgres"), "DATABASE_URL": ""}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "demo", "--data", str(place / "demo"), *arguments],
                cwd=PROJECT,
                env=os.environ | own,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        started.append(Demo(process, log))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()
    for left in processes_of(place):
        left.kill()


def processes_of(place: Path) -> list[psutil.Process]:
    """Return what runs on the data of this demo, by the environment that all of it inherits."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("EMBEDDED_POSTGRES_DIR") == str(place / "postgres"):
                found.append(process)
        except psutil.Error:
            continue
    return found


def all_gone(place: Path) -> bool:
    deadline = time.monotonic() + 30
    while processes_of(place) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes_of(place)


def admin_page(address: str) -> str:
    """Log in to the admin as the table says, and return its first page."""
    with requests.Session() as browser:
        form = browser.get(f"{address}login/", timeout=20)
        form.raise_for_status()
        answer = browser.post(
            f"{address}login/",
            data={
                "username": "admin",
                "password": "invoicehub-demo",
                "csrfmiddlewaretoken": browser.cookies["csrftoken"],
                "next": "/admin/",
            },
            timeout=20,
        )
        return answer.text


def test_the_demo_started_used_killed_started_again_and_stopped(demo: Start, place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = str(listener.getsockname()[1])
        first = demo("--web-port", taken, "--inbox-port", "0")
        web = first.says(r"Application .*(http\S+)/ ")
    assert (
        f"Port {taken} is taken: the web server listens on {web.rpartition(':')[2]}."
        in first.text()
    )
    inbox = first.says(r"inbox .*(http\S+)/ .*no login")
    assert requests.get(f"{inbox}/", timeout=20).status_code == 200
    assert "Log out" in admin_page(f"{web}/admin/")

    second = demo()
    assert second.process.wait(PATIENCE_SECONDS) == 1
    assert f"is running on {place}/demo already: {web}" in second.text()

    worker = next(each for each in processes_of(place) if "run_delivery_worker" in each.cmdline())
    worker.kill()
    first.says("The worker was ended by SIGKILL. Starting another one in 1 s.")
    first.says(r"(?s)worker started.*worker started")
    assert "Traceback" not in first.text()
    first.process.kill()
    if sys.platform == "linux":
        assert all_gone(place)

    third = demo("--web-port", "0", "--inbox-port", "0")
    third.says("InvoiceHub is ready")
    assert third.ends(signal.SIGTERM) == 0
    assert re.search(
        r"Stopping: web, worker, inbox(?s:.*)worker stopped(?s:.*)Stopped", third.text()
    )
    assert "Traceback" not in third.text()
    assert all_gone(place)
