"""A real backup restored after e-mails went out: nobody gets one twice, nobody is forgotten."""

import csv
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection

from deliveries import ledger
from deliveries.models import Delivery
from invoicehub.embedded import installation
from invoicehub.rehearsal.fleet import Fleet
from invoices.models import Organization
from invoices.sending import send
from tests import factories
from tests.process.conftest import database_url

# One server serves the tests of several processes.
RESTORED = f"test_restored_{os.getpid()}"


def pg(program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's own programs."""
    subprocess.run([installation.programs() / program, *arguments], check=True, timeout=60)


@pytest.fixture
def backup(fleet: Fleet, mainland: Organization, finance: User, tmp_path: Path) -> Iterator[Path]:
    """A dump of two e-mails that wait; then one is sent, and the other is not."""
    first, second = (
        send(
            factories.make_invoice(mainland, number=number).pk,
            organization=mainland,
            user_id=finance.pk,
        )
        for number in ("INV-SENT", "INV-WAITS")
    )
    path = tmp_path / "backup.sql"
    pg("pg_dump", "--no-owner", "--file", str(path), database_url())
    ledger.cancel(second.pk, actor_id=finance.pk, why="The outage comes before it.")
    assert fleet.start_worker("--once").wait() == 0
    assert Delivery.objects.get(pk=first.pk).status == "sent"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {RESTORED} TEMPLATE template0")
    yield path
    for process in fleet.processes:
        process.kill()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {RESTORED} WITH (FORCE)")


def restore(path: Path) -> str:
    url = database_url().replace(str(connection.settings_dict["NAME"]), RESTORED)
    pg("psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--output", "/dev/null", "-f", str(path), url)
    return url


def run(fleet: Fleet, url: str, *arguments: str) -> None:
    assert fleet.run(*arguments, DATABASE_URL=url) == 0


def statuses(url: str) -> dict[str, str]:
    with psycopg.connect(url) as restored:
        rows = restored.execute("SELECT reference, status FROM deliveries_delivery").fetchall()
    return dict(rows)


def now() -> str:
    return datetime.now(UTC).isoformat()


@pytest.mark.slow
def test_a_restored_backup_sends_nothing_twice_though_the_provider_forgot_its_keys(
    fleet: Fleet, backup: Path
) -> None:
    fleet.provider.empty()
    url = restore(backup)
    run(fleet, url, "reconcile_after_restore", "--backup-taken-at", now())
    assert fleet.start_worker("--once", DATABASE_URL=url).wait() == 0
    assert fleet.provider.messages() == []
    assert statuses(url) == {"INV-SENT": "dead", "INV-WAITS": "dead"}
    run(fleet, url, "check_ledger")


def test_with_the_providers_log_the_restored_backup_goes_on_where_it_was(
    fleet: Fleet, backup: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.csv"
    with log.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["idempotency_key", "provider_id"])
        rows.writerows([m["idempotency_key"], m["id"]] for m in fleet.provider.messages())
    fleet.provider.empty()
    url = restore(backup)
    options = ("--backup-taken-at", now(), "--sent", str(log), "--complete")
    run(fleet, url, "reconcile_after_restore", *options)
    assert fleet.start_worker("--once", DATABASE_URL=url).wait() == 0
    [message] = fleet.provider.messages()
    assert "INV-WAITS" in message["subject"]
    assert statuses(url) == {"INV-SENT": "sent", "INV-WAITS": "sent"}
    run(fleet, url, "check_ledger")
