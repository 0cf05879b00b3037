"""manage.py check_ledger: whether the books agree."""

from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from deliveries import ledger
from invoices import agreeing

EXPLAINED = """
What it checks, live and archived together:
  live + archived = requested     each delivery has one first step, each first step a delivery
  one intent, one delivery        no dedupe key, idempotency key or id is both live and archived
  nothing points into the void    steps, messages and provider events have their delivery, and
                                  steps stand beside it, live or archived
  timelines agree                 the last step is the delivery's state; it was sent once at most
  what was sent is at hand        with its message, until that was dropped, under an id of its own
  invoices agree                  sending, sent, not sent, draft, void: as their e-mails say; sent
                                  twice only if somebody wanted it; of one organization

It reads each table once or twice and locks nothing: run it beside workers, after a restore, and
every night.

Exit code 0 if all agrees, 1 if anything does not, 2 if it was called wrongly,
3 if the database does not answer.
"""


class Command(BaseCommand):
    help = "Check that no delivery is lost or doubled, and that invoices and e-mails agree."

    def create_parser(self, *names: str, **options: Any) -> CommandParser:
        """Show the examples line by line; Django's own formatter would flow them together."""
        options |= {"formatter_class": RawDescriptionHelpFormatter, "epilog": EXPLAINED}
        return super().create_parser(*names, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        total = ledger.sum_up()
        self.stdout.write(
            f"{total.live} live + {total.archived} archived "
            f"{'=' if total.balances else '≠'} {total.requested} requested"
        )
        found = [*ledger.contradictions(), *agreeing.contradictions()]
        for each in found:
            shown = ", ".join(each.examples) + (", …" if each.count > len(each.examples) else "")
            self.stdout.write(f"{each.count} times: {each.what}: {shown}")
        if found or not total.balances:
            raise CommandError("The ledger contradicts itself: see above.")
        self.stdout.write("Everything agrees.")
