"""manage.py seed_demo: sample organizations, invoices and logins."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from invoices import demo

DEVELOPMENT_PASSWORD = "invoicehub-demo"  # noqa: S105 - refused when DEBUG is off


class Command(BaseCommand):
    help = (
        "Make three sample organizations with invoices, and the logins finance, viewer, outsider, "
        "support, operations, auditor and admin, all with one password. Run twice, it adds only "
        "what is missing. Example: manage.py seed_demo --password 'correct horse' --invoices 500"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--password",
            help=f"for all logins (in development the default is {DEVELOPMENT_PASSWORD})",
        )
        parser.add_argument(
            "--invoices", type=int, default=0, metavar="N", help="make N further draft invoices"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        password = options["password"]
        if password is None:
            if not settings.DEBUG:
                raise CommandError("Give a --password: DEBUG is off.", returncode=2)
            password = DEVELOPMENT_PASSWORD
        if not password.strip():
            raise CommandError("--password must not be empty.", returncode=2)
        if options["invoices"] < 0:
            raise CommandError("--invoices must not be negative.", returncode=2)
        # In production the names may be those of people.
        kept = [] if settings.DEBUG else demo.known_logins()
        logins = demo.seed(
            password=password,
            extra_invoices=options["invoices"],
            today=timezone.now().date(),
            keep=kept,
        )
        names = ", ".join(login.username for login in logins)
        self.stdout.write(f"Sample data are there. Logins: {names}.")
        if kept:
            self.stdout.write(f"There before, and left as they are: {', '.join(kept)}.")
