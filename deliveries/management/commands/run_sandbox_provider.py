from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from deliveries.sandbox import SandboxProvider
from deliveries.sandbox.serving import CannotServe, add_arguments, serve


class Command(BaseCommand):
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        provider = SandboxProvider(
            options["data"], options["port"], host=options["host"], api_key=options["api_key"]
        )
        try:
            serve(provider, announce=self._announce)
        except CannotServe as error:
            raise CommandError(str(error)) from error

    def _announce(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()  # a script that waits for this line reads a pipe, not a terminal
