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

DEPLOY = Path(settings.BASE_DIR, "deploy")


def gunicorn(**environment: str) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return runpy.run_path(str(DEPLOY / "gunicorn.conf.py"))


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
