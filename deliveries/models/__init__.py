"""The ledger's tables. Only `deliveries.ledger` writes them; everything else reads.

Deliveries that are long over, and their timelines, are moved to `deliveries_archiveddelivery` and
`deliveries_archivedevent` (`ledger.archive`). These are PostgreSQL children of the tables of
`Delivery` and `DeliveryEvent`, so these models read both: an archived delivery is a delivery. SQL
that is only about live rows says ONLY. A foreign key constraint cannot point at both.
"""

from deliveries.models.deliveries import (
    NOBODY_KNOWS,
    DeadLetter,
    Delivery,
    DeliveryQuerySet,
    UnfollowedDelivery,
)
from deliveries.models.lanes import Flow, Lane, LaneEvent
from deliveries.models.messages import Message
from deliveries.models.reports import Mailbox, ProviderEvent
from deliveries.models.timeline import DeliveryEvent
from deliveries.models.workers import ALIVE_WITHIN, WorkerPresence

__all__ = [
    "ALIVE_WITHIN",
    "NOBODY_KNOWS",
    "DeadLetter",
    "Delivery",
    "DeliveryEvent",
    "DeliveryQuerySet",
    "Flow",
    "Lane",
    "LaneEvent",
    "Mailbox",
    "Message",
    "ProviderEvent",
    "UnfollowedDelivery",
    "WorkerPresence",
]
