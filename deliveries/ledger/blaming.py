"""Whom to blame where a provider blames everybody: the whole lane, or one message alone.

Some providers answer 403 or 429 to what is wrong with one recipient. If each of those paused the
lane, one organization's odd address would hold up all others.
"""

from datetime import datetime

from deliveries.ledger import sql
from deliveries.ledger.claiming import Claim

# So often others must have been accepted after it was refused. A provider whose key comes and goes
# would have to refuse the same delivery, which goes behind others each time, again and again.
TIMES = 3


def singled_out(claim: Claim) -> bool:
    """Tell whether this one alone is refused as if it were the lane, time after time.

    A third of all answers since must be acceptances: where the provider throttles most of what
    comes, being throttled tells nothing.
    """
    return bool(
        sql.one(_SINGLED_OUT, {"id": claim.delivery_id, "lane": claim.lane, "times": TIMES})
    )


# Blames since a person last replayed it, which is a new beginning.
_SINGLED_OUT = """
    WITH blame AS (
        SELECT at, lead(at) OVER (ORDER BY id) AS next FROM deliveries_deliveryevent
        WHERE delivery_id = %(id)s AND type = 'released' AND details @> '{"blames_lane": true}'
          AND id > coalesce((
            SELECT max(id) FROM deliveries_deliveryevent
            WHERE delivery_id = %(id)s AND type = 'replayed'
          ), 0)
        ORDER BY id DESC LIMIT 200
    ), answer AS (
        SELECT event.at, event.type FROM ONLY deliveries_deliveryevent event
        JOIN ONLY deliveries_delivery other ON other.id = event.delivery_id
        WHERE event.at > (SELECT min(at) FROM blame) AND other.lane = %(lane)s
          AND other.id <> %(id)s
          AND (event.type = 'sent'
               OR event.type = 'released' AND event.details @> '{"blames_lane": true}')
    )
    SELECT 1 AS found
    WHERE (SELECT count(*) FROM blame) >= %(times)s
      AND %(times)s <= (
        SELECT count(*) FROM blame WHERE EXISTS (
            SELECT FROM answer WHERE type = 'sent' AND answer.at > blame.at
              AND (blame.next IS NULL OR answer.at < blame.next)
        )
      )
      AND (SELECT count(*) FILTER (WHERE type = 'sent') * 3 >= count(*) FROM answer)
"""


def is_lane_to_blame(
    lane: str, *, accepted: bool, blames: int, patience: int, now: datetime | None = None
) -> bool:
    """Remember what a round of answers says of the lane, and tell whether all are meant.

    They are unless something was accepted within the last five minutes, and not more than
    `patience` answers in a row have blamed the lane since. `accepted` says whether this round had
    an acceptance, `blames` how many answers blamed the lane. Joins the caller's transaction, in
    which the lane is locked.
    """
    known = sql.one(
        f"""
        SELECT blames_in_a_row AS blames,
               coalesce(accepted_at > {sql.NOW} - interval '5 minutes', false) AS lately
        FROM deliveries_lane WHERE name = %(lane)s
        """,
        {"lane": lane, "now": now},
    )
    if known is None:
        return blames > 0
    in_a_row = blames if accepted else known.blames + blames
    if accepted or blames:
        _remember(lane, in_a_row, accepted=accepted, now=now)
    return blames > 0 and (in_a_row > patience or not (accepted or known.lately))


def _remember(lane: str, in_a_row: int, *, accepted: bool, now: datetime | None) -> None:
    sql.run(
        f"""
        UPDATE deliveries_lane SET blames_in_a_row = %(blames)s,
            accepted_at = CASE WHEN %(accepted)s THEN {sql.NOW} ELSE accepted_at END
        WHERE name = %(lane)s AND (
            blames_in_a_row <> %(blames)s
            OR %(accepted)s AND (
                accepted_at IS NULL OR accepted_at < {sql.NOW} - interval '5 seconds'
            )
        )
        """,
        {"lane": lane, "blames": in_a_row, "accepted": accepted, "now": now},
    )
