"""A fleet with sample data on a private PostgreSQL of its own."""

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from invoicehub.embedded import server
from invoicehub.rehearsal.drills import PASSWORD
from invoicehub.rehearsal.fleet import BASE_DIR, Fleet

MakeFleet = Callable[..., Fleet]


def pytest_collection_finish() -> None:
    """Leave what was imported out of every search for garbage, as the deployed web server does."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def make_fleet(tmp_path: Path) -> Iterator[MakeFleet]:
    """Return a function that makes a migrated, seeded fleet: `make_fleet(invoices=…, …)`."""
    with ExitStack() as stack:
        postgres = server.start(tmp_path / "postgres")
        stack.callback(postgres.stop)
        postgres.create_database("invoicehub")

        def make(*, invoices: int, code: Path = BASE_DIR, **settings: str) -> Fleet:
            url = postgres.url("invoicehub")
            fleet = stack.enter_context(Fleet(database_url=url, folder=tmp_path, settings=settings))
            fleet.code = code
            assert fleet.run("migrate", "--verbosity", "0") == 0
            count = str(invoices)
            assert fleet.run("seed_demo", "--password", PASSWORD, "--invoices", count) == 0
            fleet.start_provider()
            return fleet

        yield make
