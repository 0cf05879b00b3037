"""Half of a million provider events forgotten, and a night on which there is nothing to forget.

make bench ARGS="-k forgetting"
"""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from deliveries import ledger
from deliveries.models import ProviderEvent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

EVENTS = 1_000_000
RETENTION = timedelta(days=90)
NOW = datetime(2026, 3, 2, 2, 30, tzinfo=UTC)

# Half a year of them, in the order of time.
_EVENTS = """
    INSERT INTO deliveries_providerevent
        (event_id, type, outcome, provider_message_id, happened_at, reason, address, received_at,
         state, payload)
    SELECT 'old-' || n, 'email.delivered', 'delivered', 'foreign-' || n, %(now)s, '', '',
           %(now)s - interval '180 days' * (%(count)s - n) / %(count)s, 'waiting',
           jsonb_build_object('data', repeat('x', 400))
    FROM generate_series(1, %(count)s) AS n
"""


def forget() -> tuple[int, float, float]:
    """Return how many went, in how many seconds, and how long the slowest page took."""
    count, slowest = 0, 0.0
    began = last = time.monotonic()
    for count in ledger.forget_reports(older_than=RETENTION, now=NOW):  # noqa: B007 - the last counts
        now = time.monotonic()
        slowest, last = max(slowest, now - last), now
    return count, time.monotonic() - began, slowest


def test_forgetting_takes_as_long_as_there_is_to_forget(transactional_db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, {"count": EVENTS, "now": NOW})
        cursor.execute("VACUUM ANALYZE deliveries_providerevent")
    began = time.monotonic()
    would_go = ledger.count_forgettable(older_than=RETENTION, now=NOW)
    counted_in = time.monotonic() - began
    gone, seconds, slowest = forget()
    nothing, idle_seconds, _ = forget()
    print(
        f"\n{EVENTS:,} events: {would_go:,} counted in {counted_in:.1f} s; {gone:,} deleted in "
        f"{seconds:.1f} s, the slowest thousand in {slowest * 1000:.0f} ms\n"
        f"nothing to delete: {idle_seconds * 1000:.1f} ms"
    )
    assert gone == would_go == EVENTS - ProviderEvent.objects.count()
    assert nothing == 0
