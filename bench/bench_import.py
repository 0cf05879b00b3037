"""A CSV file of 100 MB, imported by the real command: how long, and in how much memory.

make bench ARGS="-k import"
"""

import time
from pathlib import Path

import psutil
import pytest

from bench.conftest import MakeFleet
from invoicehub.rehearsal.fleet import Fleet
from invoicehub.rehearsal.processes import manage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

BYTES = 100_000_000
HEADER = (
    "number,customer_email,customer_name,currency,issued_on,due_on,description,quantity,"
    "unit_price,tax_rate\n"
)


def test_a_file_of_100_mb_is_imported_in_bounded_memory(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    path = tmp_path / "large.csv"
    lines = _write(path)
    fleet = make_fleet(invoices=0)
    words = ("import_invoices", str(path), "--organization", "nordlicht")
    first = _watched(fleet, "first", *words)
    again = _watched(fleet, "again", *words, exit_code=1)
    print(f"\n{lines:,} lines, {BYTES / 1e6:.0f} MB\n  first: {first}\n  again: {again}")


def _write(path: Path) -> int:
    """Write invoices of two lines each, for ten thousand customers."""
    size, count = len(HEADER), 0
    with path.open("w", encoding="utf-8") as file:
        file.write(HEADER)
        while size < BYTES:
            number, customer = count // 2, count // 2 % 10_000
            line = (
                f"BENCH-{number:08},payables-{customer}@customer.example,Customer {customer},EUR,"
                f"02/03/2026,31/03/2026,Item {count % 97},{1 + count % 7},{count % 9000}.50,19\n"
            )
            size += file.write(line)
            count += 1
    return count


def _watched(fleet: Fleet, name: str, *words: str, exit_code: int = 0) -> str:
    started, peak = time.monotonic(), 0
    process = fleet.start(name, manage(*words))
    while process.running:
        peak = max(peak, _memory(process.pid))
        time.sleep(0.1)
    assert process.wait(seconds=900) == exit_code, process.output()
    seconds = time.monotonic() - started
    return f"{seconds:.0f} s, peak memory {peak / 1024 / 1024:.0f} MiB"


def _memory(pid: int) -> int:
    try:
        own = psutil.Process(pid)
        return sum(one.memory_info().rss for one in (own, *own.children(recursive=True)))
    except psutil.NoSuchProcess:
        return 0
