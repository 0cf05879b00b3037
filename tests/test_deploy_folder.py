"""What stands in deploy/ fits the code, and itself."""

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from deliveries import deadline
from deliveries.management.commands import check_worker
from invoicehub import environment as read

DEPLOY = Path(settings.BASE_DIR, "deploy")


def gunicorn(**environment: str) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return runpy.run_path(str(DEPLOY / "gunicorn.conf.py"))


@pytest.mark.thorough
def test_gunicorn_takes_its_settings() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DEBUG"}
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "gunicorn", "--check-config"),
            *("--config", "deploy/gunicorn.conf.py", "invoicehub.wsgi"),
        ],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr


def test_gunicorn_can_be_told_otherwise() -> None:
    told = gunicorn(WEB_WORKERS="3", WEB_THREADS="", WEB_BIND="0.0.0.0:80")
    assert (told["workers"], told["threads"], told["bind"]) == (3, 4, "0.0.0.0:80")


@pytest.mark.parametrize("value", ["0", "-1", "many", "2.5", "00", "99999", "٠"])
@pytest.mark.parametrize("name", ["WEB_WORKERS", "WEB_THREADS"])
def test_a_number_of_processes_that_is_none_is_refused(name: str, value: str) -> None:
    with pytest.raises(SystemExit, match=f"^{name} must be a whole number from 1 to 9999"):
        gunicorn(**{name: value})


def unit(name: str) -> str:
    return (DEPLOY / "systemd" / name).read_text()


def test_a_worker_that_was_stopped_on_purpose_stays_stopped() -> None:
    check = unit("invoicehub-worker-check@.service")
    assert "systemctl try-restart invoicehub-worker@%i.service" in check
    assert "check_worker --name %H-%i; [ $$? -eq 1 ]'" in check
    assert "--name %H-%i " in unit("invoicehub-worker@.service")
    assert "OnCalendar=minutely" in unit("invoicehub-worker-check@.timer")
    assert "systemctl restart" not in Path(settings.BASE_DIR, "docs", "monitoring.md").read_text()


def test_a_check_has_time_to_ask_twice() -> None:
    [seconds] = re.findall(r"TimeoutStartSec=(\d+)", unit("invoicehub-worker-check@.service"))
    [stops] = re.findall(r"TimeoutStopSec=(\d+)", unit("invoicehub-worker@.service"))
    patience = read.PATIENCE["connect_timeout"] + deadline.SECONDS
    assert int(seconds) > int(stops) + 2 * patience + check_worker.AGAIN_AFTER_SECONDS


def test_units_name_programs_by_their_whole_path_and_share_their_fences() -> None:
    services = sorted((DEPLOY / "systemd").glob("*.service"))
    assert len(services) == 5
    for service in services:
        text = service.read_text()
        for command in re.findall(r"^Exec\w+=\+?(\S+)", text, re.MULTILINE):
            assert command.startswith("/")
        assert "NoNewPrivileges=true" in text
        assert "User=invoicehub" in text


def test_workers_serve_their_metrics() -> None:
    assert "--metrics-port 910%i\n" in unit("invoicehub-worker@.service")
    compose = (DEPLOY / "compose.yaml").read_text()
    assert '"--metrics-address", "0.0.0.0", "--metrics-port", "9100"' in compose


@pytest.mark.parametrize("release", ["", "/srv/invoicehub/releases/0.2.0"])
def test_manage_runs_from_any_folder(tmp_path: Path, release: str) -> None:
    pretended = tmp_path / "systemd-run"
    pretended.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    pretended.chmod(0o755)
    ended = subprocess.run(
        [str(DEPLOY / "manage"), "trace", "an invoice", "--json"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        | ({"RELEASE": release} if release else {}),
        capture_output=True,
        text=True,
        check=True,
    )
    where = release or "/srv/invoicehub/current"
    arguments = ended.stdout.splitlines()
    assert arguments[-5:] == [
        f"{where}/.venv/bin/python",
        *("manage.py", "trace", "an invoice", "--json"),
    ]
    assert arguments[arguments.index("--working-directory") + 1] == where
    assert "--pipe" in arguments


def test_everything_is_stopped_timers_first() -> None:
    for name in ("operations.md", "restore.md"):
        text = Path(settings.BASE_DIR, "docs", name).read_text()
        timers = text.index("systemctl stop 'invoicehub-*.timer'")
        assert timers < text.index("systemctl stop 'invoicehub-*.service'")
        assert "compose.yaml stop web worker cron" in text


def test_the_documented_cron_line_is_the_one_that_is_shipped() -> None:
    [line] = re.findall(r"^0 8 .+$", (DEPLOY / "crontab").read_text(), re.MULTILINE)
    assert f"\n{line}\n" in Path(settings.BASE_DIR, "docs", "reminders.md").read_text()


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("2026-03-02T07:59:59+00:00", "2026-03-02T08:00:00+00:00"),
        ("2026-03-02T08:00:00+00:00", "2026-03-03T08:00:00+00:00"),
        ("2026-03-06T09:00:00+00:00", "2026-03-09T08:00:00+00:00"),  # Friday → Monday
        ("2026-03-07T23:59:59-08:00", "2026-03-09T08:00:00+00:00"),
        ("2026-12-31T08:00:01+00:00", "2027-01-01T08:00:00+00:00"),
    ],
)
def test_the_container_s_cron_fires_on_weekdays_at_eight(now: str, due: str) -> None:
    next_run: Callable[[datetime], datetime] = runpy.run_path(str(DEPLOY / "cron.py"))["next_run"]
    assert next_run(datetime.fromisoformat(now)) == datetime.fromisoformat(due)


def test_every_schedule_says_the_same() -> None:
    assert "0 8 * * 1-5 " in (DEPLOY / "crontab").read_text()
    timer = (DEPLOY / "systemd" / "invoicehub-reminders.timer").read_text()
    assert "OnCalendar=Mon..Fri 08:00:00 UTC" in timer
    assert "30 2 * * * " in (DEPLOY / "crontab").read_text()
    timer = (DEPLOY / "systemd" / "invoicehub-archive.timer").read_text()
    assert "OnCalendar=02:30:00 UTC" in timer


def test_what_stops_a_worker_waits_until_it_has_drained() -> None:
    unit = (DEPLOY / "systemd" / "invoicehub-worker@.service").read_text()
    compose = (DEPLOY / "compose.yaml").read_text()
    waits = re.findall(r"TimeoutStopSec=(\d+)", unit) + re.findall(
        r"_grace_period: (6\d)s", compose
    )
    assert len(waits) == 2
    assert min(map(int, waits)) > 2 * settings.DELIVERY_SEND_TIMEOUT_SECONDS


def test_the_image_has_what_its_commands_need_and_runs_as_nobody_special() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text()
    for path in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE):
        for one in path.split():
            assert Path(settings.BASE_DIR, one).exists()
            assert f"!{one}\n" in ignored
    assert re.search(r"^USER 10001$", dockerfile, re.MULTILINE)
    assert "rm -rf invoicehub/embedded" in dockerfile
