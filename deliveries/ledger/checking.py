"""Whether the books agree: live + archived = requested, and nothing points into the void."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from deliveries.ledger import books, sql

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
    """Tell what contradicts what. Each statement is of one moment; none locks."""
    for what, statement in books.TWICE.items():
        yield from _found(f"SELECT 0, '{_quoted(what)}', name FROM ({statement}) AS twice (name)")
    yield from check(books.OF_TIMELINES, of=books.TIMELINES, named=books.NAME)
    for what, statement in books.LOST.items():
        yield from _found(f"SELECT 0, '{_quoted(what)}', name FROM ({statement}) AS lost (name)")


def check(rules: Mapping[str, str], *, of: str, named: str) -> Iterator[Contradiction]:
    """Tell which rows of a FROM clause are what must not be; all rules in one pass over them.

    `rules` are conditions by what they mean, `named` is an expression for a row's name. All SQL is
    the caller's own, never a user's.
    """
    judged = ", ".join(
        f"({place}, '{_quoted(what)}', {condition})"
        for place, (what, condition) in enumerate(rules.items())
    )
    any_of_them = " OR ".join(f"({condition})" for condition in rules.values())
    # The first condition keeps the second from being asked of each row.
    yield from _found(
        f"""
        SELECT rule.place, rule.what, {named} {of}
        CROSS JOIN LATERAL (VALUES {judged}) AS rule (place, what, broken)
        WHERE ({any_of_them}) AND rule.broken
        """
    )


def _found(statement: str) -> Iterator[Contradiction]:
    rows = sql.rows(
        f"""
        SELECT what, count(*) AS rows, (array_agg(name ORDER BY name))[:{EXAMPLES}] AS examples
        FROM ({statement}) AS found (place, what, name) GROUP BY place, what ORDER BY place
        """,
        {},
    )
    for row in rows:
        yield Contradiction(what=row.what, count=row.rows, examples=tuple(row.examples))


def _quoted(text: str) -> str:
    return text.replace("'", "''")


_SUM = """
    SELECT (SELECT count(*) FROM ONLY deliveries_delivery) AS live,
           (SELECT count(*) FROM deliveries_archiveddelivery) AS archived,
           (SELECT count(*) FROM deliveries_deliveryevent WHERE type = 'requested') AS requested
"""
