"""manage.py demo: everything of InvoiceHub on this machine, with sample data."""

import fcntl
import io
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, connection, connections

from invoicehub.demo.plan import Place, Plan
from invoicehub.demo.ports import CannotListen, free_port
from invoicehub.demo.screen import Screen
from invoicehub.demo.show import ChildFailed, Show
from invoicehub.embedded.server import stop_all
from invoices.management.commands.seed_demo import DEVELOPMENT_PASSWORD


class Command(BaseCommand):
    help = (
        "Run all of InvoiceHub here, with sample data: PostgreSQL, an e-mail provider with an "
        "inbox page, a delivery worker and the web server. Prints where to go and who to log in "
        "as. Ctrl-C or SIGTERM stops everything and keeps the data for the next start. "
        "A port that is taken is replaced by the next free one."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (%(default)s)"
        )
        parser.add_argument("--web-port", type=int, default=8000, metavar="P", help="(%(default)s)")
        parser.add_argument(
            "--inbox-port", type=int, default=8025, metavar="P", help="(%(default)s)"
        )
        parser.add_argument(
            "--data",
            type=Path,
            default=settings.BASE_DIR / ".demo",
            metavar="DIR",
            help="folder for what the e-mail provider keeps (.demo)",
        )
        parser.add_argument("--no-seed", action="store_true", help="add no sample data")
        parser.add_argument("--no-worker", action="store_true", help="run no delivery worker")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo is for development, and DEBUG is off.")
        try:
            plan = _plan(options)
        except CannotListen as error:
            raise CommandError(str(error)) from None
        screen = Screen()
        show = Show(plan.children(screen), screen)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup asks for SIGHUP to be ignored, and is heeded.
            if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP:
                signal.signal(number, show.heed)
        with _only_one(plan) as tell_others:
            try:
                _say_which_ports(plan, screen, options)
                _prepare_database(screen, seed=not options["no_seed"])

                def welcome() -> None:
                    connections.close_all()
                    tell_others(plan.web.url)
                    screen.show(plan.addresses(password=DEVELOPMENT_PASSWORD))

                show.run(ready=welcome)
            except (ChildFailed, ImproperlyConfigured, OperationalError) as error:
                raise CommandError(str(error)) from None
            finally:
                _leave_database(screen)


def _plan(options: dict[str, Any]) -> Plan:
    host = options["host"]
    web = free_port(host, options["web_port"])
    return Plan(
        project=settings.BASE_DIR,
        data=options["data"].resolve(),
        web=Place(host, web),
        inbox=Place(host, free_port(host, options["inbox_port"], besides=web)),
        with_worker=not options["no_worker"],
        # The worker ends its hand-overs first, and none takes longer than this.
        worker_stop_seconds=settings.DELIVERY_SEND_TIMEOUT_SECONDS + 10,
    )


def _say_which_ports(plan: Plan, screen: Screen, options: dict[str, Any]) -> None:
    for what, wanted, used in (
        ("web server", options["web_port"], plan.web.port),
        ("inbox", options["inbox_port"], plan.inbox.port),
    ):
        if wanted not in {0, used}:
            screen.say(f"Port {wanted} is taken: the {what} listens on {used}.")


@contextmanager
def _only_one(plan: Plan) -> Iterator[Callable[[str], object]]:
    """Refuse a second demo on the same data; give a function that tells it where we are."""
    try:
        plan.data.mkdir(parents=True, exist_ok=True)
        notice = (plan.data / "running").open("a+")
    except OSError as error:
        raise CommandError(f"{plan.data} cannot be used: {error.strerror}.") from None
    with notice:
        try:
            fcntl.flock(notice, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            notice.seek(0)
            where = notice.read().strip() or "not ready yet"
            raise CommandError(
                f"A demo is running on {plan.data} already: {where}. Stop it, or give another "
                "--data, and EMBEDDED_POSTGRES_DIR for a database of its own."
            ) from None

        def tell(where: str) -> None:
            notice.write(where)
            notice.flush()

        notice.truncate(0)
        yield tell
        notice.truncate(0)


def _prepare_database(screen: Screen, *, seed: bool) -> None:
    screen.say(f"Preparing {_database()}{' and sample data' if seed else ''} …")
    call_command("migrate", interactive=False, verbosity=0)
    if seed:
        call_command("seed_demo", password=DEVELOPMENT_PASSWORD, stdout=io.StringIO())


def _database() -> str:
    database = connection.settings_dict
    if database["ENGINE"] == "invoicehub.embedded":
        return f"a private PostgreSQL in {database['DATA_DIRECTORY']}"
    return f"the database {database['NAME']} of DATABASE_URL"


def _leave_database(screen: Screen) -> None:
    connections.close_all()
    stop_all()
    screen.say("Stopped. The data are kept.")
