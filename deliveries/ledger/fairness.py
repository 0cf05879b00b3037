"""Fair queuing between flows, a flow being one organization and kind in a lane.

After Goyal, Vin, Cheng: "Start-time Fair Queuing" (1996), but by the tag at which a turn ends, as
in Golestani's self-clocked fair queuing (INFOCOM 1994): a delivery gets, once, at request time,
max(the lane's virtual time, its flow's last tag) + 1/weight; ready rows go in order of that tag,
and the virtual time is the tag of the row taken last.
One index serves the claim, however many flows there are.
"""

from deliveries.ledger import sql


def take_tags(
    *, lane: str, organization_id: int, kind: str, weight: float, count: int = 1
) -> list[float]:
    """Return the next `count` tags of the flow, rising; joins the caller's transaction."""
    row = sql.one(
        """
        INSERT INTO deliveries_flow AS flow (lane, organization_id, kind, last_tag)
        SELECT name, %(organization_id)s, %(kind)s, virtual_time + %(span)s
        FROM deliveries_lane WHERE name = %(lane)s
        ON CONFLICT (lane, organization_id, kind) DO UPDATE
        SET last_tag = greatest(
            flow.last_tag, (SELECT virtual_time FROM deliveries_lane WHERE name = %(lane)s)
        ) + %(span)s
        RETURNING last_tag
        """,
        {
            "lane": lane,
            "organization_id": organization_id,
            "kind": kind,
            "span": count / weight,
        },
    )
    last: float = row.last_tag
    return [last - (count - place) / weight for place in range(1, count + 1)]
