"""manage.py drill: rehearse failures on real processes, and see whether the promises hold."""

import os
import signal
import tempfile
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table

from invoicehub.embedded import cluster, server
from invoicehub.embedded.errors import ServerFailed
from invoicehub.rehearsal.drills import DRILLS, PASSWORD, Rehearsal, Result, median
from invoicehub.rehearsal.fleet import Fleet


class Command(BaseCommand):
    help = (
        "Rehearse failures: kill workers and web server, take the provider and PostgreSQL away, "
        "click twenty times at once. Everything runs on real processes with a database, a "
        "provider and data of its own in a temporary folder; yours are not touched. Prints what "
        "happened and ends with exit code 1 if any promise broke. Example: manage.py drill --quick"
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--quick", action="store_true", help="shorter outages, under a minute")
        parser.add_argument(
            "--only", metavar="WORD", default="", help="only drills whose name holds this word"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        drills = {name: drill for name, drill in DRILLS.items() if options["only"] in name}
        if not drills:
            raise CommandError(f"--only must match one of: {'; '.join(DRILLS)}.", returncode=2)
        console = Console()
        with tempfile.TemporaryDirectory(prefix="drill-") as folder:
            results = self._rehearse(Path(folder), drills, console, quick=options["quick"])
        console.print(_table(results))
        broken = [result for result in results if not result.held]
        for result in broken:
            for promise in result.broken:
                self.stderr.write(f"{result.name}: {promise}")
        if broken:
            raise CommandError(f"{len(broken)} of {len(results)} drills broke a promise.")

    def _rehearse(
        self, folder: Path, drills: dict[str, Any], console: Console, *, quick: bool
    ) -> list[Result]:
        try:
            postgres = server.start(folder / "postgres")
        except (ServerFailed, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from error
        postgres.create_database("invoicehub")
        url = postgres.url("invoicehub")
        try:
            with Fleet(database_url=url, folder=folder) as fleet:
                if fleet.run("migrate", "--verbosity", "0") or fleet.run(
                    "seed_demo", "--password", PASSWORD, "--invoices", "100"
                ):
                    raise CommandError("The drill's database could not be made ready.")
                fleet.start_provider()
                rehearsal = Rehearsal(
                    fleet,
                    database_url=url,
                    restart_database=lambda: restart(postgres),
                    quick=quick,
                )
                results = [
                    self._run(rehearsal, name, drill, console) for name, drill in drills.items()
                ]
                if fleet.run("check_ledger"):
                    raise CommandError("After the drills the books do not agree: check_ledger.")
                return results
        finally:
            postgres.stop()

    def _run(self, rehearsal: Rehearsal, name: str, drill: Any, console: Console) -> Result:
        result = rehearsal.run(name, drill)
        verdict = "held" if result.held else "BROKEN"
        console.print(f"{verdict:<7} {name} ({result.seconds:.1f} s)", highlight=False)
        return result


def restart(postgres: server.Server) -> None:
    """Shut PostgreSQL down at once, connections and all, and start it again."""
    postmaster = cluster.Cluster(postgres.folder).postmaster()
    if postmaster is not None:
        os.kill(postmaster.pid, signal.SIGQUIT)
    postgres.revive()


def _table(results: list[Result]) -> Table:
    table = Table(title="What happened")
    for heading in ("Drill", "Answers ms", "States", "E-mails", "Attempts", "Promises"):
        table.add_column(heading)
    for result in results:
        table.add_row(
            result.name,
            f"{median(result.answers_ms):.0f} (max {max(result.answers_ms, default=0):.0f})",
            ", ".join(f"{count} {status}" for status, count in sorted(result.states.items())),
            _range(result.emails_per_invoice),
            _range(result.attempts),
            "held" if result.held else "BROKEN",
        )
    return table


def _range(numbers: Any) -> str:
    if not numbers:
        return "–"
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"
