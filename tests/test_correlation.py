"""Request ids come in, go out, and stand in every log line; a line is a line."""

import json
import logging

import pytest
from django.test import Client

from deliveries import correlation
from invoicehub.logs import ConsoleFormatter, CorrelationFilter, JsonFormatter


def formatted(formatter: logging.Formatter, message: str, **extra: object) -> str:
    record = logging.makeLogRecord(
        {"name": "deliveries", "levelname": "INFO", "msg": message, **extra}
    )
    CorrelationFilter().filter(record)
    return formatter.format(record)


@pytest.mark.parametrize("sane", ["req-41", "A" * 64, "a.b_c-1"])
def test_a_sane_request_id_is_kept_and_sent_back(client: Client, sane: str) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": sane}).headers["X-Request-ID"] == sane


@pytest.mark.parametrize("odd", ["", "A" * 65, "a b", "a\tb", "<script>", "é", "a/../b"])
def test_any_other_request_id_is_replaced(client: Client, odd: str) -> None:
    got = client.get("/healthz", headers={"X-Request-ID": odd}).headers["X-Request-ID"]
    assert got != odd
    assert correlation.accepted(got) == got


def test_bound_fields_stand_in_every_line_of_the_block_and_no_longer() -> None:
    with correlation.bound(correlation_id="req-41"), correlation.bound(delivery=7):
        line = json.loads(formatted(JsonFormatter(), "attempt started", attempt=1))
    assert (line["correlation_id"], line["delivery"], line["attempt"]) == ("req-41", 7, 1)
    assert "delivery" not in json.loads(formatted(JsonFormatter(), "elsewhere"))


def test_a_line_break_in_a_value_cannot_forge_a_second_line() -> None:
    forged = "x\n12:00:00 INFO delivery sent"
    assert "\n" not in formatted(ConsoleFormatter(), "lane paused", reason=forged)
    assert "\n" not in formatted(JsonFormatter(), "lane paused", reason=forged)


def test_a_traceback_stays_inside_its_json_line() -> None:
    error = ValueError("boom")
    line = formatted(JsonFormatter(), "failed", exc_info=(ValueError, error, None))
    assert "\n" not in line
    assert "boom" in json.loads(line)["traceback"]
