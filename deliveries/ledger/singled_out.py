"""Telling a refused account from one message that alone is refused as if it were the account."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from deliveries.ledger import sql
from deliveries.ledger.claiming import Claim

# Each time others must have been accepted since: a provider whose key comes and goes would have to
# refuse the same delivery, which goes to the end of the queue each time, again and again.
TIMES = 3


def singled_out(claim: Claim) -> bool:
    """Tell whether the account was blamed for this one alone, time after time.

    Some providers answer 403 to what is wrong with a message, such as a recipient they block. It
    would pause the lane for everybody, for ever.
    """
    blamed = [row.at for row in sql.rows(_BLAMED, {"id": claim.delivery_id, "times": TIMES})]
    if len(blamed) < TIMES:
        return False
    times: Sequence[datetime | None] = [*reversed(blamed), None]
    return all(
        sql.one(_OTHERS_ACCEPTED, {"lane": claim.lane, "after": after, "before": before})
        for after, before in pairwise(times)
    )


# Since a person last replayed it, which is a new beginning.
_BLAMED = """
    SELECT at FROM deliveries_deliveryevent
    WHERE delivery_id = %(id)s AND type = 'released' AND details @> '{"blames_account": true}'
      AND id > coalesce((
        SELECT max(id) FROM deliveries_deliveryevent
        WHERE delivery_id = %(id)s AND type = 'replayed'
      ), 0)
    ORDER BY id DESC LIMIT %(times)s
"""

_OTHERS_ACCEPTED = """
    SELECT 1 AS found FROM ONLY deliveries_deliveryevent accepted
    JOIN ONLY deliveries_delivery other ON other.id = accepted.delivery_id
    WHERE accepted.type = 'sent' AND other.lane = %(lane)s
      AND accepted.at > %(after)s::timestamptz
      AND (%(before)s::timestamptz IS NULL OR accepted.at < %(before)s::timestamptz)
    LIMIT 1
"""
