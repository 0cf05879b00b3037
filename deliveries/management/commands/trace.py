"""`manage.py trace`: the whole story of an invoice's e-mails, on a terminal."""

from argparse import RawDescriptionHelpFormatter
from datetime import UTC
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deliveries import searching, tracing

EXAMPLES = """
Examples:
  manage.py trace INV-0001                     an invoice's number, or how it begins
  manage.py trace accounts@mamaput.example     a customer's address, or how it begins
  manage.py trace "Mama Put"                   words of a customer's name
  manage.py trace re_8Nq2vE                    the provider's message id, a request id, a key

Exit code 0 if something was found, 1 if nothing was.
"""


class Command(BaseCommand):
    help = 'Answer "I never got it": print every step of an invoice\'s e-mails, oldest first.'

    def create_parser(self, *names: str, **options: Any) -> CommandParser:
        """Show the examples line by line; Django's own formatter would flow them together."""
        options |= {"formatter_class": RawDescriptionHelpFormatter, "epilog": EXAMPLES}
        return super().create_parser(*names, **options)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("term", help="what you were told")

    def handle(self, *, term: str, **_: Any) -> None:
        found = tracing.search(term)
        if not found.traces:
            raise CommandError(_nothing_known(term))
        # A file or a pipe has no width of its own: let no line of a story be broken there.
        width = None if self.stdout.isatty() else 240
        console = Console(file=cast(IO[str], self.stdout), highlight=False, width=width)
        for trace in found.traces:
            _print(console, trace)
        if found.more:
            console.print(f"More invoices than these {len(found.traces)} fit that: add to it.")


def _nothing_known(term: str) -> str:
    if (event := searching.event_of_nobody(term)) is None:
        return (
            f"Nothing is known of {term!r}. Numbers and addresses are found by how they begin, "
            "ids only whole."
        )
    return (
        f"The provider told of {event.provider_message_id}: {event.type} at "
        f"{event.happened_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC. It is of no delivery here."
    )


def _print(console: Console, trace: tracing.Trace) -> None:
    entry = trace.entry
    console.print(
        f"[bold]{escape(entry.number)}[/] {escape(entry.customer)} <{escape(entry.address)}>, "
        f"{escape(entry.organization)}. The invoice's state: {escape(entry.state)}."
    )
    if not trace.deliveries:
        console.print("The ledger holds no e-mail of it: nobody has clicked Send here.\n")
        if trace.steps:
            console.print(_table(trace))
        return
    for delivery in trace.deliveries:
        ids = delivery.provider_message_id or delivery.dedupe_key
        console.print(f"  {delivery.kind} {delivery.pk}: {delivery.in_words} ({escape(ids)})")
    console.print(_table(trace))
    console.print(f"In the logs: grep -E '{escape(trace.log_search)}'\n", soft_wrap=True)


def _table(trace: tracing.Trace) -> Table:
    table = Table("UTC", trace.entry.time_zone, "Step", "What happened", "Who", "Delivery")
    for step in trace.steps:
        table.add_row(
            step.utc,
            step.local,
            step.label,
            escape(step.sentence),
            escape(step.who),
            f"{step.delivery.kind} {step.delivery.pk}" if step.delivery else "",
        )
    return table
