"""Promising deliveries by the ten thousand, in one statement."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from deliveries import correlation
from deliveries.kinds import Kind
from deliveries.ledger import lanes, sql, waking

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """One intent of many; see `request`."""

    organization_id: int
    invoice_id: int
    dedupe_key: str
    reference: str


def request_many(
    wanted: Sequence[Wanted],
    *,
    kind: Kind,
    requested_by: int | None = None,
    now: datetime | None = None,
) -> int:
    """Make the deliveries of those intents that have none yet; return how many were made.

    One transaction, or joins the caller's. Meant for up to some ten thousand at a time: the rows
    of a flow are locked until it ends. Two calls with the same intents make each once, whatever
    their order, and workers are told once.
    """
    if not wanted:
        return 0
    with transaction.atomic():
        lanes.ensure(kind.lane)
        made: int = sql.one(
            _REQUEST_MANY,
            {
                "now": now,
                "organization_ids": [intent.organization_id for intent in wanted],
                "invoice_ids": [intent.invoice_id for intent in wanted],
                "dedupe_keys": [intent.dedupe_key for intent in wanted],
                "references": [intent.reference for intent in wanted],
                "kind": kind.name,
                "lane": kind.lane,
                "weight": kind.weight,
                "actor_id": requested_by,
                "correlation_id": correlation.current_id(),
            },
        ).made
        if made:
            waking.wake(kind.lane)
    logger.info(
        "deliveries requested", extra={"kind": kind.name, "wanted": len(wanted), "made": made}
    )
    return made


# Only new rows take tags: a schedule fired forty times must not push its flows into the future.
# Flows are written in the order of their organizations, so that two runs cannot deadlock.
_REQUEST_MANY = f"""
    WITH wanted AS (
        SELECT * FROM unnest(
            %(organization_ids)s::bigint[], %(invoice_ids)s::bigint[],
            %(dedupe_keys)s::text[], %(references)s::text[]
        ) WITH ORDINALITY AS wanted (organization_id, invoice_id, dedupe_key, reference, place)
    ), fresh AS (
        SELECT wanted.*,
               row_number() OVER (PARTITION BY organization_id ORDER BY place) AS turn,
               count(*) OVER (PARTITION BY organization_id) AS turns
        FROM wanted
        LEFT JOIN LATERAL (
            -- Live or archived: see requesting._exists.
            -- LIMIT keeps it a look-up by key: NOT EXISTS became a scan of the whole ledger.
            SELECT true AS known FROM deliveries_delivery d
            WHERE d.dedupe_key = wanted.dedupe_key LIMIT 1
        ) earlier ON true
        WHERE earlier.known IS NULL
    ), flow AS (
        INSERT INTO deliveries_flow AS flow (lane, organization_id, kind, last_tag)
        SELECT lane.name, fresh.organization_id, %(kind)s,
               lane.virtual_time + max(fresh.turns) / %(weight)s::float8
        FROM fresh JOIN deliveries_lane lane ON lane.name = %(lane)s
        GROUP BY lane.name, fresh.organization_id, lane.virtual_time
        ORDER BY fresh.organization_id
        ON CONFLICT (lane, organization_id, kind) DO UPDATE
        -- The span this call adds is what it would have added to a new flow.
        SET last_tag = excluded.last_tag + greatest(
            flow.last_tag - (SELECT virtual_time FROM deliveries_lane WHERE name = %(lane)s), 0
        )
        RETURNING organization_id, last_tag
    ), made AS (
        INSERT INTO deliveries_delivery
            (organization_id, invoice_id, kind, lane, reference, dedupe_key, idempotency_key,
             status, claims, attempts, lease_token, fair_tag, correlation_id, requested_by_id,
             provider_message_id, last_error, dead_reason, created_at, waiting_since)
        SELECT fresh.organization_id, fresh.invoice_id, %(kind)s, %(lane)s, fresh.reference,
               fresh.dedupe_key, 'delivery-' || gen_random_uuid(), 'queued', 0, 0, 0,
               flow.last_tag - (fresh.turns - fresh.turn) / %(weight)s::float8,
               %(correlation_id)s, %(actor_id)s, '', '', '', {sql.NOW}, {sql.NOW}
        FROM fresh JOIN flow USING (organization_id)
        ORDER BY fresh.place
        ON CONFLICT (dedupe_key) DO NOTHING
        RETURNING id, correlation_id, created_at, requested_by_id
    ), told AS (
        INSERT INTO deliveries_deliveryevent
            (delivery_id, at, type, worker, actor_id, correlation_id, sentence, details)
        SELECT id, created_at, 'requested', '', requested_by_id, correlation_id,
               'Sending was requested.', '{{}}'
        FROM made
    )
    SELECT count(*) AS made FROM made
"""
