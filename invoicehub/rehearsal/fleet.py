"""A whole InvoiceHub of real processes on one database: provider, web server, workers."""

import copy
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, Self, TypeVar

import psycopg
import requests
from django.conf import settings

from invoicehub.rehearsal.processes import Process, free_port, manage
from invoicehub.rehearsal.waiting import wait_for

Result = TypeVar("Result")
BASE_DIR: Path = settings.BASE_DIR

# Short enough to watch a lease end, long enough to survive a busy machine. The numbers fit each
# other, as the system checks demand.
QUICK = {
    "DELIVERY_LEASE_SECONDS": "6",
    "DELIVERY_SEND_TIMEOUT_SECONDS": "3",
    "DELIVERY_BACKOFF_BASE_SECONDS": "0.5",
    "DELIVERY_BACKOFF_CAP_SECONDS": "2",
    "DELIVERY_OUTAGE_SECONDS": "10",
    "DELIVERY_POLL_SECONDS": "0.2",
}


class Provider:
    """What the sandbox saw and how it is told to fail, over its own HTTP interface."""

    def __init__(self, url: str) -> None:
        self.url = url

    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._get("/messages")
        return found

    def stats(self) -> dict[str, int]:
        found: dict[str, int] = self._get("/stats")
        return found

    def fail(self, **faults: Any) -> None:
        """Turn these switches on and all others off."""
        requests.put(f"{self.url}/faults", json=faults, timeout=10).raise_for_status()

    def recover(self) -> None:
        requests.delete(f"{self.url}/faults", timeout=10).raise_for_status()

    def empty(self) -> None:
        requests.delete(f"{self.url}/messages", timeout=10).raise_for_status()
        requests.post(f"{self.url}/stats/reset", timeout=10).raise_for_status()

    def _get(self, path: str) -> Any:
        answer = requests.get(f"{self.url}{path}", timeout=10)
        answer.raise_for_status()
        return answer.json()


class Person:
    """A member at a browser, or several: logged in, clicking Send."""

    def __init__(self, url: str, *, username: str, password: str) -> None:
        self._url = url
        self._session = requests.Session()
        form = self._session.get(f"{url}/login", timeout=30)
        form.raise_for_status()
        answer = self._session.post(
            f"{url}/login",
            data={"username": username, "password": password, **self._csrf},
            headers={"Referer": f"{url}/login"},
            timeout=30,
        )
        answer.raise_for_status()

    def twin(self) -> Self:
        """Return the same person at another browser, on a connection of its own."""
        twin = copy.copy(self)
        twin._session = requests.Session()
        twin._session.cookies.update(self._session.cookies)
        return twin

    @property
    def _csrf(self) -> dict[str, str]:
        return {"csrfmiddlewaretoken": self._session.cookies.get("csrftoken") or ""}

    def get(self, path: str) -> requests.Response:
        return self._session.get(f"{self._url}{path}", timeout=30)

    def post(self, path: str, form: Mapping[str, Any]) -> requests.Response:
        """Send a form off, as a browser without JavaScript does."""
        data, headers = {**self._csrf, **form}, {"Referer": self._url}
        return self._session.post(f"{self._url}{path}", data=data, headers=headers, timeout=30)

    def send(self, invoice_id: int, *, request_id: str = "") -> requests.Response:
        headers = {"Referer": self._url, "Accept": "application/json"}
        if request_id:
            headers["X-Request-ID"] = request_id
        return self._session.post(
            f"{self._url}/invoices/{invoice_id}/send",
            data=self._csrf,
            headers=headers,
            timeout=30,
        )


def _listening(connection: psycopg.Connection) -> int:
    """Count the sessions of this database whose last words were LISTEN."""
    row = connection.execute(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND query LIKE 'LISTEN %'"
    ).fetchone()
    return row[0] if row else 0


class Fleet:
    """Starts and stops the processes. Everything is gone when the `with` block ends."""

    def __init__(
        self, *, database_url: str, folder: Path, settings: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.database_url = database_url
        # Where the release lies from which processes are started, as the link `current` would say.
        self.code = BASE_DIR
        self._numbers = count(1)
        self.processes: list[Process] = []
        self._environment = {
            **os.environ,
            **QUICK,
            "DATABASE_URL": database_url,
            "DEBUG": "true",
            "LOG_FORMAT": "json",
            "EMAIL_PROVIDER": "sandbox",
            "PYTHONUNBUFFERED": "1",
            **(settings or {}),
        }
        self.web_url = ""
        self._provider_port = free_port()
        self.provider = Provider(f"http://127.0.0.1:{self._provider_port}")
        self._environment["EMAIL_PROVIDER_URL"] = self.provider.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()

    def until(self, condition: Callable[[], object], what: str, *, seconds: float = 60) -> None:
        wait_for(condition, what, seconds=seconds)

    def until_workers_are_present(self, number: int) -> None:
        """Wait until so many workers listen, as the database sees them."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            self.until(
                lambda: _listening(connection) >= number, f"{number} workers listen", seconds=60
            )

    def at_once(self, calls: Sequence[Callable[[], Result]]) -> list[Result]:
        """Make all the calls at the same instant, each in a thread; return their results."""
        start = threading.Barrier(len(calls))

        def make(call: Callable[[], Result]) -> Result:
            start.wait(30)
            return call()

        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(make, calls))

    def run(self, *arguments: str, **settings: str) -> int:
        """Run a command of manage.py to its end; return its exit code."""
        return self.start(arguments[0], manage(*arguments), settings).wait(seconds=120)

    def start_provider(self) -> Process:
        """Start the sandbox; its messages survive its own restart."""
        data = str(self.folder / "sandbox")
        port = str(self._provider_port)
        # Without Django, which it does not need: it starts in a fifth of the time.
        command = [sys.executable, "-m", "deliveries.sandbox", "--port", port, "--data", data]
        process = self.start("provider", command, {})
        self._until_answers(process, f"{self.provider.url}/healthz")
        return process

    def start_web(self, *, port: int = 0) -> Process:
        """Start a web server as it is deployed, on that port or on a free one."""
        address = f"127.0.0.1:{port or free_port()}"
        self.web_url = f"http://{address}"
        command = [
            *(sys.executable, "-m", "gunicorn", "invoicehub.wsgi"),
            *("--config", str(BASE_DIR / "deploy" / "gunicorn.conf.py")),
        ]
        bound = {"WEB_BIND": address, "WEB_WORKERS": "2", "WEB_THREADS": "8"}
        process = self.start("web", command, bound)
        self._until_answers(process, f"{self.web_url}/healthz")
        return process

    def restart_web(self, web: Process) -> Process:
        """Drain the web server and start one on its port: what `systemctl restart` does."""
        code = web.terminate()
        if code:
            raise RuntimeError(f"The web server ended with {code}:\n{web.output()[-2000:]}")
        return self.start_web(port=int(self.web_url.rpartition(":")[2]))

    def start_worker(self, *options: str, name: str = "", **settings: str) -> Process:
        """Start a delivery worker; do not wait for it."""
        name = name or f"worker-{next(self._numbers)}"
        return self.start(name, manage("run_delivery_worker", "--name", name, *options), settings)

    def start_script(self, name: str, script: Path, *arguments: str, **settings: str) -> Process:
        """Start a Python file in the fleet's environment."""
        return self.start(name, [sys.executable, str(script), *arguments], settings)

    def start(
        self, name: str, command: Sequence[str], settings: Mapping[str, str] | None = None
    ) -> Process:
        """Start any command in the fleet's environment."""
        process = Process(
            name,
            command,
            log=self.folder / f"{name}.log",
            environment={**self._environment, **(settings or {})},
            code=self.code,
        )
        self.processes.append(process)
        return process

    def _until_answers(self, process: Process, url: str) -> None:
        def answers() -> bool:
            if not process.running:
                raise RuntimeError(f"{process.name} ended at once:\n{process.output()[-2000:]}")
            try:
                return requests.get(url, timeout=5).ok
            except requests.ConnectionError:
                return False

        wait_for(answers, f"{process.name} answers at {url}", seconds=60)
