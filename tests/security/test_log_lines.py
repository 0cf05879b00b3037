"""The last net: what libraries and PostgreSQL quote does not reach the log either."""

import json
import logging
import sys
import time

import pytest

from invoicehub.logs import ConsoleFormatter, JsonFormatter, SecretsFilter


def line(
    formatter: logging.Formatter, msg: str, *args: object, error: str = "", **more: str
) -> str:
    record = logging.LogRecord("a", logging.ERROR, __file__, 1, msg, args, None)
    vars(record).update(more)
    if error:
        try:
            int(error)
        except ValueError:
            record.exc_info = sys.exc_info()
    SecretsFilter().filter(record)
    return formatter.format(record)


@pytest.mark.parametrize("formatter", [JsonFormatter(), ConsoleFormatter()])
@pytest.mark.parametrize(
    "address",
    [
        "ann@customer.example",
        "ann%40customer.example",
        "o'brien+x@münchen.example",
        "zoë@customer.example",
    ],
)
def test_an_address_is_struck_out_wherever_it_stands(
    formatter: logging.Formatter, address: str
) -> None:
    told = line(
        formatter,
        "Not Found: %s",
        f"/customers/{address}?q={address}",
        error=f"Key (email)=({address}) already exists.",
        why=f"refused <{address}>",
    )
    assert "customer.example" not in told
    assert told.count("…@…") >= 3
    assert "already exists" in told


def test_what_is_no_address_stays() -> None:
    told = json.loads(line(JsonFormatter(), "lane paused", lane="email", worker="web-1", at="@ 5"))
    assert (told["lane"], told["worker"], told["message"]) == ("email", "web-1", "lane paused")


def test_a_hostile_line_costs_no_time() -> None:
    started = time.monotonic()
    line(JsonFormatter(), "x" * 200_000 + "@" * 200_000)
    assert time.monotonic() - started < 5
