"""What the demo runs, where it listens, and what it tells people about that."""

import http.client
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.table import Table

from deliveries.models import WorkerPresence
from invoicehub.demo.children import Child
from invoicehub.demo.screen import Screen

_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # only recognized here

# Known to everybody who reads this, as the logins' password is: the demo is for one machine.
_WEBHOOK_SECRET = "whsec_ZGVtbyBvZiBJbnZvaWNlSHViLCBub3Qgc2VjcmV0"  # noqa: S105


@dataclass(frozen=True)
class Place:
    """A host and port to listen on, and how a browser on this machine reaches it."""

    host: str
    port: int

    @property
    def reached_at(self) -> str:
        return _EVERY_ADDRESS.get(self.host, self.host)

    @property
    def url(self) -> str:
        return f"http://{_with_port(self.reached_at, self.port)}"

    @property
    def bind(self) -> str:
        return _with_port(self.host, self.port)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to run, and where."""

    project: Path
    data: Path
    web: Place
    inbox: Place
    with_worker: bool
    worker_stop_seconds: float

    def children(self, screen: Screen) -> list[Child]:
        """Return the processes in the order of their start. They are stopped the other way
        round: clicks end first, then the worker drains while the provider still answers.
        """
        inbox, worker, web = self._inbox(screen), self._worker(screen), self._web(screen)
        return [inbox, worker, web] if self.with_worker else [inbox, web]

    def addresses(self, *, password: str) -> Table:
        """Return the table that says where to go and who to be."""
        table = Table(
            box=box.ROUNDED, title="InvoiceHub is ready", title_style="bold green", caption_style=""
        )
        for heading in ("Open", "Address", "Log in as"):
            table.add_column(heading, overflow="fold")
        table.add_row("Application", f"{self.web.url}/", "finance, viewer, outsider")
        table.add_row("Admin", f"{self.web.url}/admin/", "admin, support, operations")
        table.add_row("E-mail inbox", f"{self.inbox.url}/", "(no login)")
        table.caption = f"Password of every login: {password}\nCtrl-C stops it all, keeps the data."
        return table

    def _inbox(self, screen: Screen) -> Child:
        listening = ["--host", self.inbox.host, "--port", str(self.inbox.port)]
        telling = ["--webhook-url", f"{self.web.url}/webhooks/email", "--webhook-repeats", "2"]
        return self._child(
            "inbox",
            [
                *("manage.py", "run_sandbox_provider", *listening, *telling),
                *("--data", str(self.data / "sandbox")),
            ],
            screen,
            stop_seconds=5,
        )

    def _worker(self, screen: Screen) -> Child:
        return self._child(
            "worker",
            ["manage.py", "run_delivery_worker"],
            screen,
            stop_seconds=self.worker_stop_seconds,
        )

    def _web(self, screen: Screen) -> Child:
        return self._child(
            "web",
            [
                *("-m", "gunicorn", "invoicehub.demo.wsgi", "--bind", self.web.bind),
                *("--workers", "2", "--worker-class", "gthread", "--threads", "4"),
                *(
                    "--graceful-timeout",
                    "5",
                    "--no-control-socket",
                    "--log-level",
                    "warning",
                    "--preload",
                ),
            ],
            screen,
            stop_seconds=10,
        )

    def _child(
        self, name: str, python_arguments: list[str], screen: Screen, *, stop_seconds: float
    ) -> Child:
        answers = {
            "inbox": lambda _: _answers(self.inbox, "/healthz"),
            "worker": _has_reported,
            "web": lambda _: _answers(self.web, "/readyz"),
        }
        return Child(
            name=name,
            command=[sys.executable, *python_arguments],
            environment=self._environment(),
            folder=self.project,
            screen=screen,
            answers=answers[name],
            stop_seconds=stop_seconds,
            comes_back=name == "worker",
        )

    def _environment(self) -> dict[str, str]:
        environment = os.environ | {
            "PYTHONUNBUFFERED": "1",
            "EMAIL_PROVIDER": "sandbox",
            "EMAIL_PROVIDER_URL": self.inbox.url,
            "EMAIL_PROVIDER_WEBHOOK_SECRET": _WEBHOOK_SECRET,
        }
        if self.web.host not in {"127.0.0.1", "localhost", "::1"}:
            environment.setdefault("ALLOWED_HOSTS", "*")
        return environment


def _with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _answers(place: Place, path: str) -> bool:
    # Not urllib: it would ask the proxy that the environment may name.
    connection = http.client.HTTPConnection(place.reached_at, place.port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _has_reported(worker: Child) -> bool:
    return WorkerPresence.objects.filter(host=socket.gethostname(), pid=worker.pid or 0).exists()
