"""What a person's action on many deliveries came to."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from deliveries.models import Delivery


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What became of many: ids done, and the reason for each that was skipped."""

    done: tuple[int, ...]
    skipped: dict[int, str]

    @classmethod
    def of(cls, parts: Iterable["Batch"]) -> Self:
        """Put the parts together."""
        done: list[int] = []
        skipped: dict[int, str] = {}
        for part in parts:
            done += part.done
            skipped |= part.skipped
        return cls(done=tuple(done), skipped=skipped)


MISSING = "it does not exist"

# Why a delivery in that state is skipped.
STATE_WORDS = {
    Delivery.Status.QUEUED: "already waiting to be sent",
    Delivery.Status.RUNNING: "already running",
    Delivery.Status.RETRYING: "already retrying by itself",
    Delivery.Status.SENT: "already sent",
    Delivery.Status.CANCELLED: "already cancelled",
}
