"""manage.py reconcile_after_restore: a restored backup sends nothing a second time."""

from argparse import RawDescriptionHelpFormatter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime

from deliveries import ledger, sent_log
from deliveries.models import WorkerPresence

EXPLAINED = """
Run it after restoring a backup, before any worker or web process starts. What waited when the
backup was taken may have been sent since, and would go out a second time.

  --sent FILE.csv   the provider's log since the backup, with the columns idempotency_key and
                    provider_id (and correlation_id, the header X-Correlation-ID): what is in it is
                    recorded as sent.
  --complete        the log holds everything since the backup: what is not in it was not sent, and
                    stays as it is. Without it, what is not in the log is set aside.

What is set aside is dead with "We do not know whether it was sent": a person looks into the
provider's log and confirms a replay, or records it as sent. The same holds for replays of what was
dead before. docs/restore.md has the whole procedure.

  manage.py reconcile_after_restore --backup-taken-at 2026-03-02T03:00:00Z --sent log.csv --dry-run

Twice is as good as once. Exit code 0 if all was done, 1 if it was refused, 2 if it was called
wrongly.
"""


class Command(BaseCommand):
    help = "Settle, after a restore, what may have been sent since the backup was taken."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXPLAINED
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--backup-taken-at",
            metavar="TIMESTAMP",
            required=True,
            help="with its time zone: 2026-03-02T03:00:00Z",
        )
        parser.add_argument(
            "--requested-until",
            metavar="TIMESTAMP",
            help="settle also what was requested up to then, such as reminders recorded anew "
            "(default: when the backup was taken)",
        )
        parser.add_argument("--sent", metavar="FILE.csv", help="the provider's log")
        parser.add_argument("--complete", action="store_true", help="the log holds everything")
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        taken_at = _moment("--backup-taken-at", options["backup_taken_at"])
        until = _moment("--requested-until", options["requested_until"] or taken_at.isoformat())
        if until < taken_at:
            raise CommandError("--requested-until is before the backup was taken.", returncode=2)
        log = _log(options["sent"], complete=options["complete"])
        dry_run: bool = options["dry_run"]
        if not dry_run and (alive := WorkerPresence.objects.alive().first()):
            raise CommandError(f"Worker {alive} is running: stop all workers first.")
        steps = ledger.reconcile(
            backup_taken_at=taken_at,
            requested_until=until,
            log=log,
            key_lifetime=ledger.key_lifetime(),
            dry_run=dry_run,
        )
        *_, counts = [ledger.Reconciled(), *steps]
        self._tell(counts, dry_run=dry_run)

    def _tell(self, counts: ledger.Reconciled, *, dry_run: bool) -> None:
        self.stdout.write(
            f"{counts.sent} found in the provider's log and recorded as sent\n"
            f"{counts.set_aside} set aside as unknown: see the dead letters\n"
            f"{counts.doubted} dead before the backup: replaying them asks for confirmation now\n"
            f"{counts.left} left as they are"
        )
        if dry_run:
            self.stdout.write("Nothing was changed.")


def _moment(name: str, text: str) -> datetime:
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CommandError(
            f"{name} must be a time with its zone, such as 2026-03-02T03:00:00Z, not {text!r}.",
            returncode=2,
        )
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise CommandError(f"{name} is out of range: {text!r}.", returncode=2) from None
    if moment > datetime.now(UTC):
        raise CommandError(f"{name} is in the future: {text}.", returncode=2)
    return moment


def _log(path: str | None, *, complete: bool) -> ledger.SentLog | None:
    if path is None:
        if complete:
            raise CommandError("--complete says something of the --sent log.", returncode=2)
        return None
    try:
        return sent_log.read(Path(path), complete=complete)
    except sent_log.Unreadable as error:
        raise CommandError(str(error), returncode=1) from None
