"""The alert rules and the dashboard: right in themselves, and about metrics that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from prometheus_client import REGISTRY

from deliveries import gauges, metrics
from tests.metrics.scraping import parsed

DOCS = Path(settings.BASE_DIR, "docs")
ALERTS = (DOCS / "alerts.yml").read_text()
BOARD = json.loads((DOCS / "grafana.json").read_text())
NAME = re.compile(r"\bdeliveries_\w+")

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is missing: Debian's package prometheus"
)


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = BOARD["panels"]
    return found


def expressions() -> str:
    return "\n".join(target["expr"] for panel in panels() for target in panel["targets"])


@pytest.fixture
def metric_names(db: None) -> set[str]:
    """Return the name of every series, of the ledger and of the worker, and of every family."""
    metrics.begin_at_zero()
    text = gauges.render().decode()
    families = set(re.findall(r"^# TYPE (deliveries_\w+)", text, re.MULTILINE))
    worker = {sample.name for family in REGISTRY.collect() for sample in family.samples}
    return families | {name for name, _ in parsed(text)} | worker


@needs_promtool
@pytest.mark.parametrize("arguments", [["check", "rules", "alerts.yml"], ["test", "rules"]])
def test_the_alerts_fire_when_they_should(arguments: list[str]) -> None:
    files = ["alerts_test.yml"] if arguments[0] == "test" else []
    ran = subprocess.run(
        ["promtool", *arguments, *files], cwd=DOCS, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_rules_and_dashboard_use_metrics_that_there_are(metric_names: set[str]) -> None:
    used = set(NAME.findall(ALERTS + expressions()))
    assert used <= metric_names
    assert len(used) > 15


def test_the_dashboard_shows_every_metric(metric_names: set[str]) -> None:
    ours = {
        re.sub(r"_(bucket|count|sum|created)$", "", name)
        for name in metric_names
        if name.startswith("deliveries_")
    } - {"deliveries_attempts", "deliveries_leases_lost"}
    shown = {re.sub(r"_bucket$", "", name) for name in NAME.findall(expressions())}
    assert shown == ours


def test_panels_have_a_place_of_their_own() -> None:
    assert BOARD["uid"] == "invoicehub-deliveries"
    assert len({panel["id"] for panel in panels()}) == len(panels())
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels())
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23


def test_panels_ask_the_data_source_that_is_chosen() -> None:
    sources = {t["datasource"]["uid"] for panel in panels() for t in panel["targets"]}
    assert sources == {"${datasource}"}
    assert all(panel["title"] for panel in panels())


def test_every_alert_is_tested_and_explained() -> None:
    names = set(re.findall(r"- alert: (\w+)", ALERTS))
    tested = (DOCS / "alerts_test.yml").read_text()
    assert names == set(re.findall(r"alertname: (\w+)", tested))
    runbooks = (DOCS / "operations.md").read_text()
    [section] = re.findall(r"^## Alerts$(.+?)^## ", runbooks, re.MULTILINE | re.DOTALL)
    assert names == set(re.findall(r"^### (\w+)$", section, re.MULTILINE))


def test_every_alert_leads_to_its_runbook() -> None:
    rules = re.findall(r"- alert: (\w+)$(.+?)(?=- alert:|\Z)", ALERTS, re.MULTILINE | re.DOTALL)
    assert len(rules) == 11
    for name, rule in rules:
        assert re.findall(r"runbook_url: (\S+)", rule) == [f"docs/operations.md#{name.lower()}"]


def test_every_metric_is_explained(metric_names: set[str]) -> None:
    explained = set(NAME.findall((DOCS / "monitoring.md").read_text()))
    families = {
        re.sub(r"_(bucket|count|sum|created)$", "", name)
        for name in metric_names
        if name.startswith("deliveries_")
    } - {"deliveries_attempts", "deliveries_leases_lost"}
    assert families <= explained
