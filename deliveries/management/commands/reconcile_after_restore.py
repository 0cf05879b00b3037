"""manage.py reconcile_after_restore: a restored backup sends nothing a second time."""

from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
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

  --unknown FILE    where to write the messages of the log that belong to nothing here, such as
                    invoices sent for the first time after the backup. Without it, they are printed.

What is set aside is dead with "We do not know whether it was sent": a person looks into the
provider's log and confirms a replay, or records it as sent. The same holds for replays of what was
dead before. docs/restore.md has the whole procedure.

  manage.py reconcile_after_restore --backup-taken-at 2026-03-02T03:00:00Z --sent log.csv --dry-run

Every e-mail that waits is looked at, however young: a snapshot may be later than its date. So after
the system went to work again, a log that came late needs --requested-until, the time when it did.

Twice is as good as once, and two at once as one after the other. Exit code 0 if all was done, 1 if
it was refused, 2 if it was called wrongly.
"""


class Command(BaseCommand):
    help = "Settle, after a restore, what may have been sent since the backup was taken."

    def create_parser(self, *names: str, **options: Any) -> CommandParser:
        """Show the examples line by line; Django's own formatter would flow them together."""
        options |= {"formatter_class": RawDescriptionHelpFormatter, "epilog": EXPLAINED}
        return super().create_parser(*names, **options)

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
            help="look only at what was requested up to then: when web and workers were started "
            "again, if they were (default: at everything)",
        )
        parser.add_argument("--sent", metavar="FILE.csv", help="the provider's log")
        parser.add_argument("--complete", action="store_true", help="the log holds everything")
        parser.add_argument(
            "--unknown", metavar="FILE.csv", help="write what the log alone knows of there"
        )
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        taken_at = _moment("--backup-taken-at", options["backup_taken_at"])
        until = _until(options["requested_until"], taken_at)
        reading = _reading(options["sent"], complete=options["complete"])
        dry_run: bool = options["dry_run"]
        if not dry_run and (alive := WorkerPresence.objects.alive().first()):
            raise CommandError(f"Worker {alive} is running: stop all workers first.")
        self._keep_unknown(reading, options["unknown"], sent=options["sent"])
        steps = ledger.reconcile(
            backup_taken_at=taken_at,
            requested_until=until,
            log=reading.log if reading else None,
            key_lifetime=ledger.key_lifetime(),
            dry_run=dry_run,
        )
        *_, counts = [ledger.Reconciled(), *steps]
        self._tell(counts)
        if reading:
            self._tell_of_log(reading, options["unknown"])
        if dry_run:
            self.stdout.write("Nothing was changed.")

    def _keep_unknown(
        self, reading: sent_log.Reading | None, path: str | None, *, sent: str
    ) -> None:
        if path is None:
            return
        if reading is None:
            raise CommandError("--unknown is about the --sent log.", returncode=2)
        if Path(path).resolve() == Path(sent).resolve():
            raise CommandError("--unknown would be written over the --sent log.", returncode=2)
        try:
            sent_log.write(Path(path), reading.unknown)
        except OSError as error:
            raise CommandError(f"--unknown cannot be written: {error}") from None

    def _tell(self, counts: ledger.Reconciled) -> None:
        self.stdout.write(
            f"{counts.sent} found in the provider's log and recorded as sent\n"
            f"{counts.set_aside} set aside as unknown: see the dead letters\n"
            f"{counts.doubted} dead before the backup: replaying them asks for confirmation now\n"
            f"{counts.left} left as they are"
        )
        if counts.later:
            self.stdout.write(
                f"{counts.later} that wait were requested after --requested-until and stay"
            )

    def _tell_of_log(self, reading: sent_log.Reading, path: str | None) -> None:
        if reading.unknown:
            self.stdout.write(_of_unknown(len(reading.unknown)))
            self.stdout.write(f"They stand in {path}." if path else _listed(reading.unknown))
        if reading.doubled:
            self.stdout.write(_of_doubled(reading.doubled))


def _of_unknown(count: int) -> str:
    belong = "message of the log belongs" if count == 1 else "messages of the log belong"
    return (
        f"{count} {belong} to nothing in this database: sent for the first time after the backup, "
        "or again under a new key. Tell finance, with recipients and subjects from the provider's "
        "log: these invoices are drafts again, or gone; sending them again makes a second e-mail."
    )


def _listed(lines: Sequence[sent_log.Line]) -> str:
    return "\n".join(f"  {line.key} {line.id}" for line in lines)


def _of_doubled(doubled: Sequence[sent_log.Doubled]) -> str:
    many = "1 delivery" if len(doubled) == 1 else f"{len(doubled)} deliveries"
    rows = "".join(f"\n  {each.dedupe_key}: {', '.join(each.ids)}" for each in doubled)
    return f"{many} went out more than once, by the log: tell finance.{rows}"


def _until(text: str | None, taken_at: datetime) -> datetime | None:
    if text is None:
        return None
    until = _moment("--requested-until", text)
    if until < taken_at:
        raise CommandError("--requested-until is before the backup was taken.", returncode=2)
    return until


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


def _reading(path: str | None, *, complete: bool) -> sent_log.Reading | None:
    if path is None:
        if complete:
            raise CommandError("--complete says something of the --sent log.", returncode=2)
        return None
    try:
        return sent_log.read(Path(path), complete=complete)
    except sent_log.Unreadable as error:
        raise CommandError(str(error), returncode=1) from None
