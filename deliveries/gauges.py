"""Gauges of the ledger, asked at scrape time: the same from whichever web process answers.

Cheap beside any number of old rows: each statement reads a partial index, or the newest blocks of
the timeline, and counting stops where the number no longer matters. Labels are kinds, lanes,
statuses and reasons: a few dozen series, however many organizations there are.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from deliveries import kinds, overview
from deliveries.ledger import sql
from deliveries.ledger.lanes import OUTAGE_FAILURES
from deliveries.models import Delivery

COUNTED_UP_TO = 100_000
RECENT = timedelta(hours=1)
RECENT_UP_TO = 2_000
# A scrape must not add to the trouble of a database in trouble.
GIVEN_UP_AFTER = "4s"


def render(*, now: datetime | None = None) -> bytes:
    """Return the gauges in Prometheus' text format; five queries at most, read only.

    Raise the database's error where a statement takes longer than four seconds. Time is the
    database's; a test passes `now`.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Ledger(now))
    with transaction.atomic():
        sql.run(f"SET LOCAL statement_timeout = '{GIVEN_UP_AFTER}'", {})
        return generate_latest(registry)


class _Ledger(Collector):
    def __init__(self, now: datetime | None) -> None:
        self._now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from _lanes(self._now)
        yield _dead()
        yield _workers(self._now)
        yield from _recent(self._now)


def _lanes(now: datetime | None) -> list[GaugeMetricFamily]:
    backlog = _gauge(
        "backlog", "How many wait, by status; counting stops at 100,000.", "lane", "status"
    )
    by_lane = {
        name: _gauge(name, told, "lane")
        for name, told in {
            "oldest_waiting_seconds": (
                "How long the oldest has waited since it was requested or last replayed; 0 if none."
            ),
            "running": "How many are being sent, under leases that hold.",
            "oldest_lease_seconds": (
                "How long ago the oldest lease was taken or renewed; 0 if none. Workers renew each "
                "third of a lease: beyond a whole one nobody takes the delivery over."
            ),
            "lane_limit": "How many may be sent at once, over the whole fleet.",
            "lane_paused": "1 while the lane is paused.",
            "lane_failing": "1 while the provider fails, and only probes are let through.",
        }.items()
    }
    for row in sql.rows(_LANES, _lane_parameters(now)):
        backlog.add_metric([row.lane, "queued"], row.queued)
        backlog.add_metric([row.lane, "retrying"], row.retrying)
        for name, gauge in by_lane.items():
            gauge.add_metric([row.lane], float(getattr(row, name)))
    return [backlog, *by_lane.values()]


# Each subquery asks in the order of its index: without one the planner may hope to find the rows
# by reading the table.
_LANES = f"""
    SELECT name AS lane, "limit" AS lane_limit,
        coalesce(paused_until > {sql.NOW}, false) AS lane_paused,
        failures_in_a_row >= %(outage)s AS lane_failing,
        (SELECT count(*) FROM (
            SELECT 1 FROM deliveries_delivery WHERE status = 'queued' AND lane = name
            ORDER BY fair_tag, id LIMIT %(most)s) AS first) AS queued,
        (SELECT count(*) FROM (
            SELECT 1 FROM deliveries_delivery WHERE status = 'retrying' AND lane = name
            ORDER BY next_attempt_at LIMIT %(most)s) AS first) AS retrying,
        greatest(extract(epoch FROM {sql.NOW} - (
            SELECT waiting_since FROM deliveries_delivery
            WHERE status IN ('queued', 'retrying') AND lane = name
            ORDER BY waiting_since LIMIT 1)), 0) AS oldest_waiting_seconds,
        (SELECT count(*) FROM deliveries_delivery
         WHERE status = 'running' AND lane = name AND locked_until > {sql.NOW}) AS running,
        greatest(extract(epoch FROM {sql.NOW} + %(lease)s - (
            SELECT min(locked_until) FROM deliveries_delivery
            WHERE status = 'running' AND lane = name)), 0) AS oldest_lease_seconds
    FROM deliveries_lane ORDER BY name
"""


def _lane_parameters(now: datetime | None) -> dict[str, object]:
    return {
        "now": now,
        "outage": OUTAGE_FAILURES,
        "most": COUNTED_UP_TO,
        "lease": timedelta(seconds=settings.DELIVERY_LEASE_SECONDS),
    }


def _dead() -> GaugeMetricFamily:
    """Count dead letters from their index; beyond 100,000 the last kinds get too few."""
    gauge = _gauge("dead", "Dead letters: they wait for a person.", "kind", "reason")
    found = sql.rows(
        """
        SELECT kind, dead_reason AS reason, count(*) AS number FROM (
            SELECT kind, dead_reason FROM deliveries_delivery WHERE status = 'dead'
            ORDER BY kind, dead_reason LIMIT %(most)s
        ) AS first GROUP BY kind, dead_reason
        """,
        {"most": COUNTED_UP_TO},
    )
    # Zeros too: what begins at 1 has not increased, to Prometheus.
    counts = {(kind, reason.value): 0 for kind in kinds.names() for reason in Delivery.DeadReason}
    counts |= {(row.kind, row.reason): row.number for row in found}
    for labels, number in counts.items():
        gauge.add_metric(labels, number)
    return gauge


def _workers(now: datetime | None) -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "deliveries_workers_alive",
        "Workers seen within the last 30 seconds.",
        value=overview.fleet(now=now).alive,
    )


def _recent(now: datetime | None) -> tuple[GaugeMetricFamily, GaugeMetricFamily]:
    """Compare what was sent lately with the e-mails that the provider knows of.

    More than one each: the provider reported, of a delivery's key, a message that is not the one
    we stored. Fewer: it gave two deliveries the same id, so a customer may have got nothing.
    """
    sent = _gauge("recent_sent", "Sent within the last hour, the newest 2,000 at most.", "kind")
    emails = _gauge(
        "recent_emails",
        "E-mails that the provider accepted or reported for these; as many, if all is well.",
        "kind",
    )
    found = {
        row.kind: row
        for row in sql.rows(_RECENT, {"now": now, "recent": RECENT, "most": RECENT_UP_TO})
    }
    for kind in sorted({*kinds.names(), *found}):
        sent.add_metric([kind], found[kind].sent if kind in found else 0)
        emails.add_metric([kind], found[kind].emails if kind in found else 0)
    return sent, emails


# Ordered by time alone, which only the block ranges serve: by id the planner might read the
# timeline backwards to its beginning. Each table is then looked up by its index.
_RECENT = f"""
    WITH lately AS MATERIALIZED (
        SELECT delivery_id AS id FROM ONLY deliveries_deliveryevent
        WHERE at > {sql.NOW} - %(recent)s AND at <= {sql.NOW} AND type = 'sent'
        ORDER BY at DESC LIMIT %(most)s
    ), known AS (
        SELECT d.id, d.kind, d.provider_message_id AS email
        FROM lately JOIN deliveries_delivery d USING (id)
        UNION ALL
        SELECT d.id, d.kind, event.provider_message_id
        FROM lately JOIN deliveries_delivery d USING (id)
        JOIN deliveries_providerevent event ON event.delivery_id = d.id
        WHERE event.provider_message_id NOT IN ('', d.provider_message_id)
    )
    SELECT kind, count(DISTINCT id) AS sent,
        count(DISTINCT email COLLATE "C") AS emails
    FROM known GROUP BY kind
"""


def _gauge(name: str, told: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"deliveries_{name}", told, labels=labels)
