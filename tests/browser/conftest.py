"""The demo, as a new user starts it, and a real browser on it."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, sync_playwright

from invoicehub.demo import tether
from invoicehub.rehearsal.waiting import wait_for

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What a browser asks its maker at every start has no place in a test.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            # The main job is tried on every change.
            if item.path.name != "test_main_job.py" and not item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.thorough)
            if "demo" in getattr(item, "fixturenames", ()):
                # One process for all of them, since each process starts a demo of its own.
                item.add_marker(pytest.mark.xdist_group("browser"))


@dataclass(frozen=True)
class Demo:
    app: str
    inbox: str


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """`manage.py demo` on ports and data of its own, stopped with SIGTERM in the end."""
    folder = tmp_path_factory.mktemp("demo")
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, tether.__file__, str(os.getpid()), sys.executable, "manage.py"),
                *("demo", "--web-port", "0", "--inbox-port", "0", "--data", str(folder / "data")),
            ],
            cwd=settings.BASE_DIR,
            env={**os.environ, "EMBEDDED_POSTGRES_DIR": str(folder / "postgres"), "COLUMNS": "160"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def addresses() -> dict[str, str]:
        if process.poll() is not None:
            pytest.fail(f"The demo ended at once:\n{log.read_text()}")
        return dict(re.findall(r"│ (Application|E-mail inbox) +│ (http\S+)", log.read_text()))

    found = wait_for(addresses, f"the demo is ready, see {log}", seconds=90)
    yield Demo(app=found["Application"], inbox=found["E-mail inbox"])
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0, log.read_text()


@pytest.fixture
def page() -> Iterator[Page]:
    """A fresh browser page that fails the test on an error in the page's own scripts."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    assert found, f"None of {', '.join(BROWSERS)} is installed: apt-get install chromium."
    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=QUIET)
        page = browser.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        browser.close()
    assert errors == []


def log_in(page: Page, demo: Demo, username: str) -> None:
    page.goto(demo.app)
    page.fill("input[name=username]", username)
    page.fill("input[name=password]", "invoicehub-demo")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/invoices")
