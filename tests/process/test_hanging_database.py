"""A database that hangs, or is away: probes say so in time, commands in a sentence."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import requests
from django.conf import settings
from django.db import OperationalError, connection

from deliveries.deadline import database_answers
from invoicehub.rehearsal.fleet import Fleet
from invoicehub.rehearsal.waiting import wait_for
from tests.process.conftest import database_url
from tests.process.silent import silent_database

AWAY = "postgres://someone@127.0.0.1:1/none"


def manage(
    *arguments: str, url: str, seconds: float = 60, **environment: str
) -> tuple[int, str, float]:
    """Run a command against that database; return its exit status, what it said, and how long."""
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": url} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    return ended.returncode, ended.stderr, time.monotonic() - began


def test_check_worker_does_not_wait_for_a_database_that_hangs() -> None:
    with silent_database() as url:
        code, said, seconds = manage("check_worker", url=url)
    assert (code, "nobody can tell" in said) == (3, True)
    assert seconds < 15


@pytest.mark.parametrize("command", [["check_ledger"], ["archive_deliveries"], ["trace", "1"]])
def test_a_command_says_in_a_sentence_that_the_database_is_away(command: list[str]) -> None:
    code, said, _ = manage(*command, url=AWAY)
    assert code == 3
    assert said.startswith("manage.py: the database does not answer. (")
    assert len(said.splitlines()) == 1


@pytest.fixture
def empty(db: None) -> Iterator[str]:
    """Yield the URL of a database without a single table."""
    reach = connection.get_connection_params()
    names = {key: reach[key] for key in ("host", "port", "user")}
    name = f"{reach['dbname']}_empty"
    with psycopg.connect(**names, dbname="postgres", autocommit=True) as raw:
        raw.execute(f'DROP DATABASE IF EXISTS "{name}"')
        raw.execute(f'CREATE DATABASE "{name}"')
        yield database_url().replace(f"/{reach['dbname']}?", f"/{name}?")
        raw.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.parametrize("command", ["check_ledger", "check_worker", "run_delivery_worker"])
def test_a_command_says_in_a_sentence_that_migrations_are_missing(empty: str, command: str) -> None:
    code, said, _ = manage(command, url=empty)
    assert code == 3
    assert said.splitlines()[-1].startswith("manage.py: migrations are missing: run migrate. (")
    assert "Traceback" not in said


def test_a_worker_that_starts_while_the_database_is_away_waits() -> None:
    with subprocess.Popen(
        [sys.executable, "manage.py", "run_delivery_worker"],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": AWAY},
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stderr is not None
        assert "waiting for the database" in worker.stderr.readline()
        time.sleep(1.5)
        assert worker.poll() is None
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0


def test_what_hangs_in_the_database_is_cut_off(transactional_db: None) -> None:
    began = time.monotonic()
    with (
        pytest.raises(OperationalError),
        database_answers(seconds=0.3),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT pg_sleep(20)")
    connection.close()
    assert time.monotonic() - began < 5


def test_what_is_quick_is_left_alone(db: None) -> None:
    with database_answers(seconds=0.2), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    time.sleep(0.4)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


@pytest.mark.parametrize("path", ["/readyz", "/metrics"])
def test_a_probe_does_not_wait_for_a_database_that_hangs(tmp_path: Path, path: str) -> None:
    with silent_database() as url, Fleet(database_url=url, folder=tmp_path) as fleet:
        fleet.start_web()
        began = time.monotonic()
        answer = requests.get(f"{fleet.web_url}{path}", timeout=30)
        assert (answer.status_code, time.monotonic() - began < 10) == (503, True)


def test_a_probe_does_not_wait_on_a_connection_that_hangs(fleet: Fleet) -> None:
    web = fleet.start_web()
    # Each thread of the web server has a connection then.
    for _ in range(20):
        assert requests.get(f"{fleet.web_url}/readyz", timeout=20).status_code == 200
    pids = backends()
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        # The server itself goes on, so that a new connection answers.
        assert requests.get(f"{fleet.web_url}/readyz", timeout=30).status_code == 200
        assert time.monotonic() - began < 10
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        web.kill()
        wait_for(lambda: not backends(), "its connections have ended")


def backends() -> list[int]:
    """Return the processes of PostgreSQL that serve others than this test."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return [pid for (pid,) in cursor.fetchall()]
