"""What support must know of the invoice behind a delivery, told by the app that knows invoices."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Remark:
    """What a person did to an invoice apart from its e-mails."""

    at: datetime
    who: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One invoice as the directory lists it. Addresses of pages are empty where there is none."""

    invoice_id: int
    number: str
    # In a word, as finance staff see it: "Sent", "Not sent", "Paid".
    state: str
    organization: str
    # An IANA name; UTC where the organization's own is unknown.
    time_zone: str
    customer: str
    address: str
    # What stands in the way of its e-mail now, each in a sentence.
    problems: tuple[str, ...] = ()
    # The newest, oldest first.
    remarks: tuple[Remark, ...] = ()
    invoice_url: str = ""
    customer_url: str = ""


class Directory(Protocol):
    def find(self, term: str, *, limit: int, addresses: bool = True) -> Sequence[int]:
        """Return the ids of invoices that the term may mean, the likeliest first, then the newest.

        The term is what a customer or a colleague says: a number or its beginning, words of a
        customer's name, an address or its beginning (not where `addresses` is false: who may not
        see addresses could spell one out).
        """

    def entries(self, invoice_ids: Collection[int]) -> dict[int, Entry]:
        """Return the entry of each invoice that exists, by id."""


_registered: list[Directory] = []


def register(directory: Directory) -> None:
    """Take this directory from now on."""
    _registered[:] = [directory]


def current() -> Directory:
    if not _registered:
        raise LookupError("No directory of invoices is registered: see deliveries.directory.")
    return _registered[0]
