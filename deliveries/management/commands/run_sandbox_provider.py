from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from deliveries.sandbox.serving import CannotServe, add_arguments, from_options, serve


class Command(BaseCommand):
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            serve(from_options(options), announce=self._announce)
        except CannotServe as error:
            raise CommandError(str(error)) from error

    def _announce(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()  # a script that waits for this line reads a pipe, not a terminal
