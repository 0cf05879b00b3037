"""The image's HEALTHCHECK, against the image's web server with the settings of production."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from django.conf import settings

from invoicehub.rehearsal.processes import free_port
from invoicehub.rehearsal.waiting import wait_for
from tests.process.test_hanging_database import AWAY
from tests.test_settings import PRODUCTION


class Site:
    """gunicorn as the image starts it, with a database that is away."""

    def __init__(self, log: Path) -> None:
        self.port, self.log = free_port(), log
        environment = {"DATABASE_URL": AWAY, "WEB_BIND": f"127.0.0.1:{self.port}"}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gunicorn"),
                    *("--config", "deploy/gunicorn.conf.py", "invoicehub.wsgi"),
                ],
                cwd=settings.BASE_DIR,
                env=os.environ | PRODUCTION | environment | {"WEB_WORKERS": "1"},
                stderr=output,
            )
        wait_for(lambda: self.get("/healthz", "localhost") is not None, "gunicorn answers")

    def get(self, path: str, host: str, **headers: str) -> requests.Response | None:
        url = f"http://127.0.0.1:{self.port}{path}"
        try:
            return requests.get(url, headers={"Host": host} | headers, timeout=20)
        except requests.ConnectionError:
            return None

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line[0] == "{"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path / "log")
    yield site
    site.process.terminate()
    site.process.wait(40)


def test_the_healthcheck_of_the_image_is_content(site: Site) -> None:
    dockerfile = Path(settings.BASE_DIR, "deploy", "Dockerfile").read_text()
    [command] = re.findall(r"HEALTHCHECK .*? CMD (\[.*?\])\n", dockerfile, re.DOTALL)
    python, *arguments = json.loads(command.replace("\\\n", ""))
    assert python == "python"
    here = [each.replace(":8000/", f":{site.port}/") for each in arguments]
    assert here != arguments
    ended = subprocess.run([sys.executable, *here], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert site.lines() == []


def test_a_probe_with_a_token_needs_no_database_to_be_told_that_there_is_none(site: Site) -> None:
    bearer = {"Authorization": "Bearer ih_something"}
    healthy, ready = (site.get(path, "10.0.0.7", **bearer) for path in ("/healthz", "/readyz"))
    assert healthy is not None
    assert (healthy.status_code, healthy.text) == (200, "ok")
    assert ready is not None
    assert (ready.status_code, ready.json()["missing"]) == (503, "database")


def test_another_host_is_one_short_line(site: Site) -> None:
    answer = site.get("/login", "evil.example" + "x" * 3000)
    assert answer is not None
    assert answer.status_code == 400
    [line] = site.lines()
    assert (line["level"], line["logger"]) == ("WARNING", "django.security.DisallowedHost")
    assert line["message"] == "host refused: it is not in ALLOWED_HOSTS"
    assert str(line["host"]).startswith("evil.example")
    assert len(json.dumps(line)) < 600
