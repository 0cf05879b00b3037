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
        SELECT at, lead(at) OVER (ORDER BY id) AS next FROM ONLY deliveries_deliveryevent
        WHERE delivery_id = %(id)s AND type = 'released' AND details @> '{"blames_lane": true}'
          AND id > coalesce((
            SELECT max(id) FROM ONLY deliveries_deliveryevent
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


def record_blames(
    lane: str, *, accepted: bool, blames: int, patience: int, now: datetime | None = None
) -> bool:
    """Count what a round of answers says of the lane; return whether all deliveries are meant.

    They are unless something was accepted within the last five minutes, and not more than
    `patience` answers in a row have blamed the lane since. `accepted` says whether this round had
    an acceptance, `blames` how many answers blamed the lane. Writes only what is news; joins the
    caller's transaction, in which the lane is locked.
    """
    known = sql.rows(
        f"""
        UPDATE deliveries_lane
        SET blames_in_a_row = %(blames)s + CASE WHEN %(accepted)s THEN 0 ELSE blames_in_a_row END,
            accepted_at = CASE WHEN %(accepted)s THEN {sql.NOW} ELSE accepted_at END
        WHERE name = %(lane)s AND (
            %(blames)s > 0 OR %(accepted)s AND (
                blames_in_a_row > 0 OR accepted_at IS NULL
                OR accepted_at < {sql.NOW} - interval '5 seconds'
            )
        )
        RETURNING blames_in_a_row AS blames,
                  coalesce(accepted_at > {sql.NOW} - interval '5 minutes', false) AS lately
        """,
        {"lane": lane, "accepted": accepted, "blames": blames, "now": now},
    )
    return blames > 0 and any(row.blames > patience or not row.lately for row in known)
