"""What a kind of delivery must offer, and the registry of those this code knows."""

from typing import Protocol

from deliveries.errors import UnknownKind
from deliveries.models import Delivery, Message


class Kind(Protocol):
    """One thing that can be delivered: an invoice, a reminder, …"""

    name: str
    lane: str
    weight: float

    def compose(self, delivery: Delivery) -> Message:
        """Return the unsaved message; raise `NotSendable` with what a person must do.

        Runs in a worker's thread, outside any transaction. The ledger fills in the delivery and
        the idempotency key, and stores it before the first hand-over.
        """

    def still_wanted(self, delivery: Delivery) -> str:
        """Return why the delivery is no longer wanted, in a sentence; empty if it is."""

    def on_settled(self, delivery: Delivery) -> None:
        """Follow a delivery into its final state, inside the settling transaction."""

    def on_replayed(self, delivery: Delivery) -> None:
        """Follow a delivery that a person has put back, inside the replaying transaction."""


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    _kinds[kind.name] = kind


def get(name: str) -> Kind:
    try:
        return _kinds[name]
    except KeyError:
        raise UnknownKind(f"This version does not know deliveries of kind {name!r}.") from None


def names() -> list[str]:
    return sorted(_kinds)


def weights(lane: str) -> dict[str, float]:
    """Return the weights in the fair queue of the kinds that go by that lane, by name."""
    return {kind.name: kind.weight for kind in _kinds.values() if kind.lane == lane}


def known(lane: str) -> list[str]:
    """Return the names of the kinds that go by that lane."""
    return [kind.name for kind in _kinds.values() if kind.lane == lane]
