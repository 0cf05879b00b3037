"""Telling idle workers that a lane has something to do. Notices get lost: workers poll as well."""

from deliveries.ledger import sql

# Workers LISTEN here; the payload is the lane.
CHANNEL = "deliveries_ready"


def wake(lane: str) -> None:
    """Notify the lane's workers at the commit of the caller's transaction."""
    sql.rows("SELECT pg_notify(%(channel)s, %(lane)s)", {"channel": CHANNEL, "lane": lane})
