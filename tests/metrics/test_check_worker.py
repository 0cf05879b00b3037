"""manage.py check_worker: alive or not, in a sentence and an exit status."""

import socket
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from deliveries import presence
from deliveries.ledger import sql
from deliveries.management.commands import check_worker
from deliveries.models import WorkerPresence

Check = Callable[..., tuple[int, str]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    """Run the command; return its exit status and what it said."""

    def command(*arguments: str) -> tuple[int, str]:
        try:
            call_command("check_worker", *arguments)
        except CommandError as error:
            return error.returncode, str(error)
        return 0, capsys.readouterr().out

    return command


@pytest.fixture(autouse=True)
def again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait before asking again."""
    monkeypatch.setattr(check_worker, "AGAIN_AFTER_SECONDS", 0)


def seen(name: str, *, seconds_ago: float = 0) -> None:
    when = sql.database_now() - timedelta(seconds=seconds_ago)
    presence.beat(name, threads=5, in_flight=0, now=when)


def test_a_worker_of_this_host_that_reports_is_alive(db: None, check: Check) -> None:
    seen("w1")
    code, said = check()
    assert (code, f"The worker of host {socket.gethostname()} is alive" in said) == (0, True)
    assert check() == (code, said)


def test_one_that_no_longer_reports_is_not(db: None, check: Check) -> None:
    seen("w1", seconds_ago=29)
    assert check()[0] == 0
    seen("w1", seconds_ago=31)
    code, said = check()
    assert (code, " was last seen 31 s ago." in said) == (1, True)


def test_none_at_all_is_not_alive(db: None, check: Check) -> None:
    code, said = check()
    assert (code, "has reported; it may have ended" in said) == (1, True)


def test_another_hosts_worker_does_not_speak_for_ours(db: None, check: Check) -> None:
    seen("w1")
    WorkerPresence.objects.update(host="elsewhere")
    assert check()[0] == 1
    assert check("--name", "w1")[0] == 0


def test_a_name_is_one_worker(db: None, check: Check) -> None:
    seen("w1")
    assert check("--name", "w1")[0] == 0
    code, said = check("--name", "w2")
    assert (code, "called 'w2'" in said) == (1, True)
    assert check("--name", "")[0] == 1


def test_a_worker_that_said_farewell_is_not_alive(db: None, check: Check) -> None:
    seen("w1")
    presence.farewell("w1")
    assert check()[0] == 1


def test_a_database_that_does_not_answer_is_not_the_workers_fault(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise OperationalError("secret of the connection")

    monkeypatch.setattr(presence, "last_seen", fail)
    assert check() == (3, "The database does not answer: nobody can tell.")


def test_a_worker_that_reports_just_after_an_outage_is_not_condemned(
    db: None, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([timedelta(minutes=5), timedelta(seconds=1)])
    monkeypatch.setattr(presence, "last_seen", lambda **_: next(answers))
    assert check()[0] == 0


def test_it_asks_again_more_than_one_beat_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert presence.BEAT_EVERY.total_seconds() < check_worker.AGAIN_AFTER_SECONDS


def test_help_teaches_the_probe() -> None:
    assert "check_worker || [ $? -eq 3 ]" in check_worker.Command.help
