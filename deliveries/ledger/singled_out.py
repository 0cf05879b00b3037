"""Telling a refused account from one message that alone is refused as if it were the account."""

from deliveries.ledger import sql
from deliveries.ledger.claiming import Claim

# A provider whose key comes and goes may refuse the same delivery twice by chance; it goes to the
# end of the queue each time.
TIMES = 3


def singled_out(claim: Claim) -> bool:
    """Tell whether the account was blamed for this one again and again, and others were accepted.

    Some providers answer 403 to what is wrong with a message, such as a recipient they block. It
    would pause the lane for everybody, for ever. One query.
    """
    found = sql.one(
        """
        SELECT EXISTS (
            SELECT 1 FROM deliveries_deliveryevent accepted
            JOIN deliveries_delivery other ON other.id = accepted.delivery_id
            WHERE accepted.type = 'sent' AND accepted.at > max(blamed.at)
              AND other.lane = %(lane)s
        ) AS others_accepted, count(*) AS times
        FROM deliveries_deliveryevent blamed
        WHERE blamed.delivery_id = %(id)s AND blamed.type = 'released'
          AND blamed.details @> '{"blames_account": true}'
        """,
        {"id": claim.delivery_id, "lane": claim.lane},
    )
    return bool(found.others_accepted and found.times >= TIMES)
