"""Which workers are there. Pages say so when none is."""

import os
import socket
from datetime import datetime, timedelta

from django.conf import settings

from deliveries.ledger import sql
from deliveries.models import WorkerPresence

BEAT_EVERY = timedelta(seconds=5)


def beat(name: str, *, threads: int, in_flight: int, now: datetime | None = None) -> None:
    """Say that the worker is there; also sweeps rows of workers gone for a day. One transaction."""
    sql.run(
        f"""
        WITH swept AS (
            DELETE FROM deliveries_workerpresence
            WHERE last_seen_at < {sql.NOW} - interval '1 day' AND name <> %(name)s
        )
        INSERT INTO deliveries_workerpresence AS presence
            (name, host, pid, version, threads, in_flight, started_at, last_seen_at)
        VALUES (%(name)s, %(host)s, %(pid)s, %(version)s, %(threads)s, %(in_flight)s,
                {sql.NOW}, {sql.NOW})
        ON CONFLICT (name) DO UPDATE
        SET host = excluded.host, pid = excluded.pid, version = excluded.version,
            threads = excluded.threads, in_flight = excluded.in_flight,
            last_seen_at = excluded.last_seen_at,
            started_at = CASE WHEN (presence.host, presence.pid) = (excluded.host, excluded.pid)
                         THEN presence.started_at ELSE excluded.started_at END
        """,
        {
            "name": name,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "version": settings.VERSION,
            "threads": threads,
            "in_flight": in_flight,
            "now": now,
        },
    )


def farewell(name: str) -> None:
    """Take the worker's row away. One statement."""
    WorkerPresence.objects.filter(name=name, pid=os.getpid()).delete()


def last_seen(
    *, name: str | None = None, host: str | None = None, now: datetime | None = None
) -> timedelta | None:
    """Return how long ago that worker, or any of that host, reported; None if none is there."""
    row = sql.one(
        f"""
        SELECT {sql.NOW} - max(last_seen_at) AS ago
        FROM deliveries_workerpresence
        WHERE name = coalesce(%(name)s, name) AND host = coalesce(%(host)s, host)
        """,
        {"name": name, "host": host, "now": now},
    )
    ago: timedelta | None = row.ago
    return ago
