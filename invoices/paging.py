"""Orders of the invoice list, and pages of it: the last is read as quickly as the first.

A page is read off an index from a cursor on (a row's values in the order's columns): nothing is
counted, and nothing is skipped by an OFFSET. Each order is the end of two indexes, one of the
organization's invoices and one of those in one status; see `Invoice.Meta.indexes`.
"""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol, Self

from django.db.models import (
    BigIntegerField,
    BooleanField,
    CharField,
    DateField,
    F,
    Field,
    Func,
    Value,
)
from django.db.models.functions import Coalesce

from invoices.models import Invoice, InvoiceQuerySet

PAGE = 50
_LONGEST_TOKEN = 600


class Query(Protocol):
    """What a QueryDict is asked here; a dict will do."""

    def get(self, key: str, default: str, /) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column that invoices are ordered by. `read` raises ValueError or TypeError for no value."""

    expression: F | Coalesce
    field: "Field[Any, Any]"
    of: Callable[[Invoice], Any]
    read: Callable[[Any], Any]


def _id(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(value)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 100 or "\0" in value:
        raise ValueError(value)
    # Half of a surrogate pair is no text to PostgreSQL: encoding raises a ValueError.
    return value.encode().decode()


def _column(name: str, field: "Field[Any, Any]", read: Callable[[Any], Any]) -> Column:
    return Column(
        expression=F(name), field=field, of=lambda invoice: getattr(invoice, name), read=read
    )


_ID = _column("id", BigIntegerField(), _id)
_AMOUNT = Column(
    # An invoice without an amount is the smallest; amounts are never zero.
    expression=Coalesce("amount_minor", 0),
    field=BigIntegerField(),
    of=lambda invoice: invoice.amount_minor or 0,
    read=_id,
)


@dataclass(frozen=True, kw_only=True)
class Order:
    """Columns whose values no two invoices of an organization share, all in one direction."""

    name: str
    columns: tuple[Column, ...]
    descending: bool = False

    def reversed(self) -> Self:
        return type(self)(name=self.name, columns=self.columns, descending=not self.descending)

    def of(self, invoices: InvoiceQuerySet) -> InvoiceQuerySet:
        return invoices.order_by(
            *(
                column.expression.desc() if self.descending else column.expression.asc()
                for column in self.columns
            )
        )

    def beyond(self, invoices: InvoiceQuerySet, values: Sequence[Any]) -> InvoiceQuerySet:
        """Return the invoices that come after those values: one range of an index.

        A row comparison, since (a > 1 OR a = 1 AND b > 2) would read all that a single day has.
        """
        here = (
            Value(value, column.field) for value, column in zip(values, self.columns, strict=True)
        )
        return invoices.filter(
            Func(
                _row(column.expression for column in self.columns),
                _row(here),
                template="%(expressions)s",
                arg_joiner=" < " if self.descending else " > ",
                output_field=BooleanField(),
            )
        )

    def token(self, invoice: Invoice) -> str:
        """Name an invoice's place in this order, for `read`."""
        values = [_plain(column.of(invoice)) for column in self.columns]
        text = json.dumps([self.name, *values], separators=(",", ":"), ensure_ascii=False)
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def read(self, token: str) -> tuple[Any, ...] | None:
        """Return a token's values; None for nonsense, and for another order's token."""
        if not token or len(token) > _LONGEST_TOKEN:
            return None
        try:
            padded = token.encode() + b"=" * (-len(token) % 4)
            name, *values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
            if name != self.name:
                return None
            pairs = zip(self.columns, values, strict=True)
            return tuple(column.read(value) for column, value in pairs)
        except (ValueError, TypeError, RecursionError, binascii.Error):
            return None


def _row(expressions: Any) -> Func:
    return Func(*expressions, template="(%(expressions)s)", output_field=CharField())


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _both(name: str, *columns: Column, descending: bool = False) -> dict[str, Order]:
    order = Order(name=name, columns=columns, descending=descending)
    return {name: order, f"-{name}": order.reversed()}


NEWEST = "newest"
ORDERS = {
    **_both(NEWEST, _column("issued_on", DateField(), date.fromisoformat), _ID, descending=True),
    **_both("due", _column("due_on", DateField(), date.fromisoformat), _ID),
    # Kobo and cents do not compare: each currency's invoices stand together.
    **_both("amount", _column("currency", CharField(), _text), _AMOUNT, _ID),
    **_both("number", _column("number", CharField(), _text)),
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where in an order a page begins (after a row) or ends (before one); else at the start."""

    after: str = ""
    before: str = ""

    @classmethod
    def read(cls, query: Query, order: Order) -> Self:
        """Read a page's address; what is no place in this order is its start."""
        for name in ("after", "before"):
            token = str(query.get(name, ""))
            if order.read(token) is not None:
                return cls(**{name: token})
        return cls()

    @property
    def parameters(self) -> dict[str, str]:
        return {name: token for name, token in vars(self).items() if token}


@dataclass(frozen=True, kw_only=True)
class Page:
    invoices: list[Invoice]
    previous: Place | None
    next: Place | None


def turn_to(place: Place, invoices: InvoiceQuerySet, order: Order, *, size: int = PAGE) -> Page:
    """Read one page; a single query, or two where what stood before it has gone meanwhile."""
    if place.before:
        page = _ending_before(place.before, invoices, order, size=size)
        # Fewer than a page are left before it: they begin the list, and its first page is whole.
        return page or turn_to(Place(), invoices, order, size=size)
    begun = order.of(invoices)
    values = order.read(place.after)
    if values is not None:
        begun = order.beyond(begun, values)
    found = list(begun[: size + 1])
    shown = found[:size]
    return Page(
        invoices=shown,
        previous=_previous(place, shown, order),
        next=Place(after=order.token(shown[-1])) if len(found) > size else None,
    )


def _previous(place: Place, shown: list[Invoice], order: Order) -> Place | None:
    if not place.after:
        return None
    return Place(before=order.token(shown[0])) if shown else Place()


def _ending_before(
    token: str, invoices: InvoiceQuerySet, order: Order, *, size: int
) -> Page | None:
    backwards = order.reversed()
    found = list(backwards.beyond(backwards.of(invoices), order.read(token) or ())[: size + 1])
    if len(found) <= size:
        return None
    shown = found[size - 1 :: -1]
    return Page(
        invoices=shown,
        previous=Place(before=order.token(shown[0])),
        next=Place(after=order.token(shown[-1])),
    )
