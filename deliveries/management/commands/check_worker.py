"""manage.py check_worker: is the worker alive, for systemd, Kubernetes and people."""

import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from deliveries import presence
from deliveries.models import ALIVE_WITHIN

SECONDS = int(ALIVE_WITHIN.total_seconds())
CANNOT_TELL = 3


class Command(BaseCommand):
    help = (
        f"Say whether a worker of this host, or the one called NAME, has reported within {SECONDS} "
        "seconds by the database's clock. Exit status: 0 if it has, 1 if not, 3 if the database "
        "does not answer: nobody can tell then, and restarting a worker would mend nothing. A "
        "liveness probe is therefore: manage.py check_worker || [ $? -eq 3 ]"
    )
    # A probe asks every few seconds.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--name", help="the name that the worker was given (default: any of this host)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        host = socket.gethostname()
        whose = f"of host {host}" if name is None else f"called {name!r}"
        try:
            seen = presence.last_seen(name=name, host=host if name is None else None)
        except Error:
            raise CommandError(
                "The database does not answer: nobody can tell.", returncode=CANNOT_TELL
            ) from None
        if seen is None:
            raise CommandError(f"No worker {whose} has reported; it may have ended.")
        if seen >= ALIVE_WITHIN:
            raise CommandError(
                f"The worker {whose} was last seen {seen.total_seconds():.0f} s ago."
            )
        self.stdout.write(f"The worker {whose} is alive, seen {seen.total_seconds():.0f} s ago.")
