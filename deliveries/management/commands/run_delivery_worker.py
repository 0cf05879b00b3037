"""manage.py run_delivery_worker: hand the ledger's deliveries to the provider."""

import ipaddress
import logging
import os
import signal
import socket
import time
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from deliveries import ledger, metrics, metrics_server, providers
from deliveries.errors import DATABASE_TROUBLE
from deliveries.policy import Policy
from deliveries.worker import Worker

logger = logging.getLogger(__name__)

# How often to look for a database that is away when the worker starts.
WAIT_SECONDS = 1.0
MOST_THREADS = 1_000
# A terminal or a supervisor may signal the whole group and then each process: that is one wish.
ECHO_SECONDS = 1.0


class Command(BaseCommand):
    help = (
        "Work the e-mail lane: lease deliveries, compose and hand over each, record the outcome. "
        "Run as many as you like, on any number of hosts: the limit of DELIVERY_CONCURRENCY holds "
        "over all of them. SIGTERM or Ctrl-C drains and exits 0; a second one exits at once, and "
        "the leases bring the work back."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--threads",
            type=int,
            default=settings.DELIVERY_CONCURRENCY,
            help="hand-overs at once in this process (default: DELIVERY_CONCURRENCY)",
        )
        parser.add_argument(
            "--name",
            default=f"{socket.gethostname()}-{os.getpid()}",
            help="how timelines and logs call this worker; unique among running workers",
        )
        parser.add_argument("--once", action="store_true", help="work what is due, then exit")
        parser.add_argument(
            "--metrics-port", type=int, help="serve this process's metrics for Prometheus here"
        )
        parser.add_argument(
            "--metrics-address",
            default=settings.WORKER_METRICS_ADDRESS,
            help="the address to serve them at (default: WORKER_METRICS_ADDRESS, %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options["threads"] <= MOST_THREADS:
            raise CommandError(f"--threads must be from 1 to {MOST_THREADS}.", returncode=2)
        name = options["name"]
        if not name.strip() or len(name) > 200 or not name.isprintable():
            raise CommandError("--name must have 1 to 200 printable characters.", returncode=2)
        try:
            provider = providers.from_settings(settings.EMAIL_PROVIDER)
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
        if options["metrics_port"] is not None:
            _serve_metrics(options["metrics_address"], options["metrics_port"])
        worker = Worker(
            provider=provider,
            policy=Policy.from_settings(),
            name=options["name"],
            threads=options["threads"],
        )
        _stop_on_signals(worker)
        if self._has_configured(worker, patient=not options["once"]):
            worker.run(once=options["once"])

    def _has_configured(self, worker: Worker, *, patient: bool) -> bool:
        """Set the lane's limits, as soon as the database answers; False if stopped before."""
        waiting = False
        while not worker.is_stopping:
            try:
                self.check_migrations()
                ledger.configure(
                    "email",
                    limit=settings.DELIVERY_CONCURRENCY,
                    rate_per_second=settings.DELIVERY_RATE_PER_SECOND,
                )
                return True
            except DATABASE_TROUBLE as error:
                if not patient:
                    raise
                if not waiting:
                    logger.warning("waiting for the database", extra={"error": str(error)})
                waiting = True
                connection.close()
                worker.rest(WAIT_SECONDS)
        return False


def _serve_metrics(address: str, port: int) -> None:
    if not 0 <= port <= 65535:
        raise CommandError(f"--metrics-port must be from 0 to 65535, not {port}.", returncode=2)
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise CommandError(
            f"--metrics-address must be an IP address, not {address!r}.", returncode=2
        ) from None
    metrics.begin_at_zero()
    try:
        metrics_server.start(address, port, token=settings.METRICS_TOKEN)
    except OSError as error:
        raise CommandError(f"--metrics-port {port} cannot be used: {error}.") from None


def _stop_on_signals(worker: Worker) -> None:
    first: list[float] = []

    def on_signal(number: int, frame: object) -> None:
        now = time.monotonic()
        if first and now - first[0] > ECHO_SECONDS:
            # No clean-up: the leases end by themselves and bring the work back.
            os._exit(1)
        first.append(now)
        worker.stop()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
