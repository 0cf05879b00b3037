"""Whether the books agree: live + archived = requested, and nothing points into the void."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from deliveries.ledger import sql

EXAMPLES = 5


@dataclass(frozen=True, kw_only=True)
class Sum:
    live: int
    archived: int
    # Counted by the first steps of timelines, which stand in tables of their own.
    requested: int

    @property
    def balances(self) -> bool:
        return self.live + self.archived == self.requested


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Something that must not be: in words, how often, and the first few of it."""

    what: str
    count: int
    examples: tuple[str, ...]


def sum_up() -> Sum:
    """Count deliveries here and there, and requests; one statement, so of one moment."""
    return Sum(**vars(sql.one(_SUM, {})))


def contradictions() -> Iterator[Contradiction]:
    """Tell what contradicts what. Each rule is one statement, so of one moment; none locks."""
    yield from check(_RULES)


def check(rules: Mapping[str, str]) -> Iterator[Contradiction]:
    """Run statements that select the names of what must not be; tell of those that find any."""
    for what, statement in rules.items():
        found = sql.one(
            f"""
            SELECT count(*) AS rows, (array_agg(name ORDER BY name))[:{EXAMPLES}] AS examples
            FROM ({statement}) AS found (name)
            """,
            {},
        )
        if found.rows:
            yield Contradiction(what=what, count=found.rows, examples=tuple(found.examples))


_SUM = """
    SELECT (SELECT count(*) FROM ONLY deliveries_delivery) AS live,
           (SELECT count(*) FROM deliveries_archiveddelivery) AS archived,
           (SELECT count(*) FROM deliveries_deliveryevent WHERE type = 'requested') AS requested
"""

# What constraints cannot hold over two tables, and what would tell of a row that got lost with its
# timeline: messages and reports stay where they are when their delivery is archived.
_RULES = {
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
    "a delivery was never requested": """
        SELECT d.dedupe_key FROM deliveries_delivery d LEFT JOIN deliveries_deliveryevent e
            ON e.delivery_id = d.id AND e.type = 'requested' WHERE e.id IS NULL
    """,
    "a delivery was requested for the first time twice": """
        SELECT delivery_id::text FROM deliveries_deliveryevent WHERE type = 'requested'
        GROUP BY delivery_id HAVING count(*) > 1
    """,
    "a step belongs to a delivery that is gone": """
        SELECT e.delivery_id::text FROM deliveries_deliveryevent e
        LEFT JOIN deliveries_delivery d ON d.id = e.delivery_id WHERE d.id IS NULL
        GROUP BY e.delivery_id
    """,
    "a message belongs to a delivery that is gone": """
        SELECT m.idempotency_key FROM deliveries_message m
        LEFT JOIN deliveries_delivery d ON d.id = m.delivery_id WHERE d.id IS NULL
    """,
    "a report belongs to a delivery that is gone": """
        SELECT r.event_id FROM deliveries_providerevent r
        LEFT JOIN deliveries_delivery d ON d.id = r.delivery_id
        WHERE r.delivery_id IS NOT NULL AND d.id IS NULL
    """,
    "a sent delivery's timeline does not say so": """
        SELECT d.dedupe_key FROM deliveries_delivery d LEFT JOIN deliveries_deliveryevent e
            ON e.delivery_id = d.id AND e.type = 'sent' WHERE d.status = 'sent' AND e.id IS NULL
    """,
}
