"""An invoice as a person decides it, and whether that is what is stored."""

import hashlib
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal

from invoices import customers, money
from invoices.models import Customer, Invoice


@dataclass(frozen=True, kw_only=True)
class DraftLine:
    description: str
    quantity: Decimal
    unit_price_minor: int
    tax_rate: Decimal
    second_tax_rate: Decimal = Decimal(0)

    @property
    def net_minor(self) -> int:
        return money.net_minor(self.quantity, self.unit_price_minor)


@dataclass(frozen=True, kw_only=True)
class NewCustomer:
    """A customer that comes into being with the invoice; one that is there already is taken.

    `shared` is an address that several customers may have: somebody was asked.
    """

    name: str
    email: str = ""
    address: str = ""
    shared: str = ""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """All that a person decides about an invoice."""

    number: str
    customer: Customer | NewCustomer
    currency: str
    issued_on: date
    due_on: date
    lines: tuple[DraftLine, ...]
    discount_rate: Decimal = Decimal(0)
    payment_terms: str = ""
    notes: str = ""
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()


COLUMNS = [
    *("number", "currency", "issued_on", "due_on", "discount_rate", "payment_terms", "notes"),
    *("to", "cc"),
]
LINE_COLUMNS = ("description", "quantity", "unit_price_minor", "tax_rate", "second_tax_rate")


def version_of(invoice: Invoice) -> str:
    """Name what a person can change of an invoice: other stored contents, another name."""
    shown = [getattr(invoice, name) for name in (*COLUMNS, "customer_id", "status")]
    lines = invoice.lines.order_by("position").values_list(*LINE_COLUMNS)
    contents = [_plain(value) for row in ([*shown], *lines) for value in row]
    return hashlib.blake2b(repr(contents).encode(), digest_size=12).hexdigest()


def holds(invoice: Invoice, draft: Draft) -> bool:
    """Tell whether the draft is stored already: a double click changes nothing."""
    values = values_of(draft)
    return (
        all(_plain(getattr(invoice, name)) == _plain(values[name]) for name in COLUMNS)
        and _lines_of(invoice) == [*draft.lines]
        and is_same(invoice.customer, draft.customer)
    )


def values_of(draft: Draft) -> dict[str, object]:
    """Return what the invoice's own columns shall hold."""
    mine = {field.name: getattr(draft, field.name) for field in fields(draft)}
    return {name: mine[name] for name in COLUMNS} | {"to": [*draft.to], "cc": [*draft.cc]}


def _lines_of(invoice: Invoice) -> list[DraftLine]:
    return [
        DraftLine(**{name: getattr(line, name) for name in LINE_COLUMNS})
        for line in invoice.lines.all()
    ]


def is_same(customer: Customer, wanted: Customer | NewCustomer) -> bool:
    """Tell whether a stored customer is who is wanted, a new one told by name and address."""
    if isinstance(wanted, Customer):
        return customer == wanted
    if customer.name.strip().casefold() != wanted.name.strip().casefold():
        return False
    if not customers.is_same_address(customer.email, wanted.email):
        return False
    # Without an e-mail address, a name alone does not tell two customers apart.
    return bool(wanted.email) or _lines(customer.address) == _lines(wanted.address)


def _plain(value: object) -> object:
    """Make equal values equal texts: 7.5 and 7.5000 are one rate, CR LF is a form's line break."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else _lines(str(value))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
