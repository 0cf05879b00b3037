"""What the admin's pages and a scrape of the metrics cost on a ledger of many years.

BENCH_DELIVERIES=10000000 make bench ARGS="-k scale"     (a million, when not said)
"""

import os
import statistics
import time
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench import history
from deliveries import ledger

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

DELIVERIES = int(os.environ.get("BENCH_DELIVERIES", "1000000"))


@pytest.fixture
def years(transactional_db: None) -> Iterator[None]:
    ledger.configure("email", limit=5, rate_per_second=None)
    history.make(DELIVERIES)
    yield
    history.forget()


def test_the_admin_stays_quick(years: None) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("admin"))
    number = f"H-{DELIVERIES // 20:08}"
    pages = {
        "start page": "/admin/",
        "dead letters": "/admin/deliveries/deadletter/",
        "dead letters, last page": "/admin/deliveries/deadletter/?p=200",
        "deliveries": "/admin/deliveries/delivery/",
        "deliveries that wait": "/admin/deliveries/delivery/?status=queued",
        "a delivery": f"/admin/deliveries/delivery/{DELIVERIES // 2}/change/",
        "lanes": "/admin/deliveries/lane/",
        "trace a number": f"/admin/trace/?q={number}",
        "trace a number's beginning": f"/admin/trace/?q={number[:-1]}",
        "trace an address": "/admin/trace/?q=accounts77@customer.example",
        "trace a name": "/admin/trace/?q=number77+trading",
        "trace a common name": "/admin/trace/?q=trading",
        "trace a provider's id": "/admin/trace/?q=msg-none",
        "list by a number": f"/admin/deliveries/delivery/?q={number}",
        "metrics": "/metrics",
    }
    print(f"\n{DELIVERIES:,} sent deliveries, {history.DEAD:,} dead, {history.WAITING:,} waiting")
    for name, address in pages.items():
        seconds, queries = _cost(client, address)
        print(f"  {name:28} {seconds * 1000:7.0f} ms, {queries} queries")


def _cost(client: Client, address: str) -> tuple[float, int]:
    """Return the median time of five answers, after a first, and the number of queries."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    count = len(queries)
    times = []
    for _ in range(5):
        began = time.monotonic()
        client.get(address)
        times.append(time.monotonic() - began)
    return statistics.median(times), count
