"""What must not be in the ledger's tables: the rules of `ledger.contradictions`, in SQL."""

from collections.abc import Mapping

# Constraints do not reach over live and archived rows.
TWICE = {
    "an intent has two deliveries, one of them archived": """
        SELECT dedupe_key FROM ONLY deliveries_delivery
        INTERSECT SELECT dedupe_key FROM deliveries_archiveddelivery
    """,
    "a delivery is both live and archived": """
        SELECT id::text FROM ONLY deliveries_delivery
        INTERSECT SELECT id::text FROM deliveries_archiveddelivery
    """,
    "two deliveries share an idempotency key": """
        SELECT idempotency_key FROM ONLY deliveries_delivery
        INTERSECT SELECT idempotency_key FROM deliveries_archiveddelivery
    """,
    "two sent deliveries share a provider's id": """
        SELECT provider_message_id FROM deliveries_delivery WHERE status = 'sent'
        GROUP BY provider_message_id HAVING count(*) > 1
    """,
}

# What would tell of a row that got lost with its timeline: messages and reports stay where they
# are when their delivery is archived.
LOST = {
    "a message belongs to a delivery that is gone": """
        SELECT m.idempotency_key FROM deliveries_message m
        LEFT JOIN deliveries_delivery d ON d.id = m.delivery_id WHERE d.id IS NULL
    """,
    "a report belongs to a delivery that is gone": """
        SELECT r.event_id FROM deliveries_providerevent r
        LEFT JOIN deliveries_delivery d ON d.id = r.delivery_id
        WHERE r.delivery_id IS NOT NULL AND d.id IS NULL
    """,
}

# Each delivery with what its timeline and its message come to: one pass for all rules about them.
# A maximum of ids says which step is the last without sorting; the last digit says of which type.
TIMELINES = """
    FROM (
        SELECT delivery_id, count(*) AS steps,
            count(*) FILTER (WHERE type = 'requested') AS requested,
            count(*) FILTER (WHERE type = 'sent') AS sent,
            count(*) FILTER (WHERE tableoid = 'deliveries_archivedevent'::regclass) AS archived,
            bool_or(type = 'sent' AND (
                details @> '{"vouched": true}' OR details @> '{"restored": true}'
            )) AS found_in_log,
            (ARRAY['open', 'sent', 'dead', 'cancelled'])[1 + coalesce(mod(max(id * 10 + CASE type
                WHEN 'replayed' THEN 0 WHEN 'sent' THEN 1 WHEN 'died' THEN 2 WHEN 'cancelled' THEN 3
            END), 10), 0)] AS state
        FROM deliveries_deliveryevent GROUP BY delivery_id
    ) told
    FULL JOIN (
        SELECT id, status, dedupe_key, idempotency_key,
            tableoid = 'deliveries_archiveddelivery'::regclass AS is_archived,
            CASE WHEN status IN ('sent', 'dead', 'cancelled') THEN status ELSE 'open' END AS state
        FROM deliveries_delivery
    ) d ON d.id = told.delivery_id
    LEFT JOIN (
        SELECT delivery_id, idempotency_key,
            text = '' AND html = '' AND content_dropped_at IS NULL AS is_empty
        FROM deliveries_message
    ) m ON m.idempotency_key = d.idempotency_key AND m.delivery_id = d.id
"""

NAME = "coalesce(d.dedupe_key, told.delivery_id::text)"

# Of what a provider's log told us after a restore, no message needs to be here.
OF_TIMELINES: Mapping[str, str] = {
    "a delivery was never requested": "d.id IS NOT NULL AND coalesce(told.requested, 0) = 0",
    "a delivery was requested for the first time twice": "told.requested > 1",
    "a step belongs to a delivery that is gone": "d.id IS NULL",
    "a sent delivery's timeline does not say so": (
        "d.status = 'sent' AND coalesce(told.sent, 0) = 0"
    ),
    "a delivery's timeline says twice that it was sent": "told.sent > 1",
    "a delivery's last step says otherwise than its state": "d.state <> told.state",
    "a step does not stand beside its delivery, live or archived": (
        "told.archived <> CASE WHEN d.is_archived THEN told.steps ELSE 0 END"
    ),
    "a sent delivery has no message under its key": (
        "d.status = 'sent' AND m.delivery_id IS NULL AND NOT coalesce(told.found_in_log, false)"
    ),
    "a sent delivery's message is empty, and nobody dropped its content": (
        "d.status = 'sent' AND m.is_empty"
    ),
}
