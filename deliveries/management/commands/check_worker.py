"""manage.py check_worker: is the worker alive, for systemd, Kubernetes and people."""

import socket
import time
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from deliveries import presence
from deliveries.deadline import database_answers
from deliveries.errors import DATABASE_TROUBLE
from deliveries.models import ALIVE_WITHIN

SECONDS = int(ALIVE_WITHIN.total_seconds())
CANNOT_TELL = 3
# Just after an outage of the database nobody has reported lately. A worker that lives tries again
# within five seconds, and needs as long again where it is just connecting.
AGAIN_AFTER_SECONDS = 10.0


class Command(BaseCommand):
    help = (
        f"Say whether a worker of this host, or the one called NAME, has reported within {SECONDS} "
        "seconds by the database's clock. Exit status: 0 if it has, 1 if not, 3 if the database "
        "does not answer: nobody can tell then, and restarting a worker would mend nothing. A "
        "liveness probe is therefore: manage.py check_worker || [ $? -eq 3 ]. Before it says 1 it "
        "asks a second time, ten seconds later."
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
        reach = {"name": name, "host": host if name is None else None}
        seen = _last_seen(**reach)
        if seen is None or seen >= ALIVE_WITHIN:
            time.sleep(AGAIN_AFTER_SECONDS)
            seen = _last_seen(**reach)
        if seen is None:
            raise CommandError(f"No worker {whose} has reported; it may have ended.")
        if seen >= ALIVE_WITHIN:
            raise CommandError(
                f"The worker {whose} was last seen {seen.total_seconds():.0f} s ago."
            )
        self.stdout.write(f"The worker {whose} is alive, seen {seen.total_seconds():.0f} s ago.")


def _last_seen(*, name: str | None, host: str | None) -> timedelta | None:
    try:
        with database_answers():
            return presence.last_seen(name=name, host=host)
    except DATABASE_TROUBLE:
        raise CommandError(
            "The database does not answer: nobody can tell.", returncode=CANNOT_TELL
        ) from None
