"""One line of a file as it was understood, or what is wrong with it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple, TypeVar

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from invoices import validation
from invoices.importing import values
from invoices.importing.conventions import Conventions
from invoices.importing.problems import BadValue, Problem, Problems, shown
from invoices.importing.reading import Layout, Row

T = TypeVar("T")

# Longest text of each column, as the models have it; None for what is no text.
_LONGEST = {
    "number": 100,
    "customer_email": 320,
    "customer_name": 240,
    "customer_address": 2_000,
    "customer_tax_id": 60,
    "description": 1_000,
    "payment_terms": 500,
    "notes": 10_000,
}
_MANY_LINES = {"customer_address", "notes"}


class _Undecided(Exception):
    """What a cell means hangs on what a person has still to say; not a problem of its own."""


class Line(NamedTuple):
    """What is staged of a line. None stands for what is missing or wrong."""

    line: int
    number: str
    email: str
    name: str
    address: str
    tax_id: str
    currency: str | None
    issued_on: date | None
    due_on: date | None
    payment_terms: str
    notes: str
    description: str
    quantity: Decimal
    unit_price_minor: int | None
    tax_rate: Decimal
    second_tax_rate: Decimal
    # What the file says that the invoice comes to; None where it leaves that to the lines.
    amount_minor: int | None


@dataclass
class Reader:
    """Turns rows into lines, and tells `problems` of what it cannot read."""

    layout: Layout
    conventions: Conventions
    problems: Problems

    def __post_init__(self) -> None:
        self._place = {name: place for place, name in enumerate(self.layout.names) if name}
        self._width = len(self.layout.names)
        self._priced = self.layout.has("unit_price")
        self._row = Row(0, [])

    def read(self, row: Row) -> Line | None:
        """Return the line; None for one that cannot even be told to which invoice it belongs."""
        self._row = row
        if any(row.cells[self._width :]):
            self._tell("", "", _("The line has more cells than the header: is something unquoted?"))
            return None
        number = self._needed("number", _("The number is missing."))
        email = self._address()
        currency = self._value("currency", values.currency, required=True)
        issued_on, due_on = self._days()
        unit_price, amount = self._money(currency)
        tax_rate, second_tax_rate = self._tax_rates()
        line = Line(
            line=row.line,
            number=number,
            email=email,
            name=self._text("customer_name"),
            address=self._text("customer_address"),
            tax_id=self._text("customer_tax_id"),
            currency=currency,
            issued_on=issued_on,
            due_on=due_on,
            payment_terms=self._text("payment_terms"),
            notes=self._text("notes"),
            description=self._text("description") or _("As agreed"),
            quantity=self._value("quantity", self._quantity) or Decimal(1),
            unit_price_minor=unit_price,
            tax_rate=tax_rate,
            second_tax_rate=second_tax_rate,
            amount_minor=amount,
        )
        return line if number else None

    def _days(self) -> tuple[date | None, date | None]:
        issued_on = self._value("issued_on", self._day, required=True)
        due_on = self._value("due_on", self._day, required=True)
        if issued_on and due_on and due_on < issued_on:
            self._tell("due_on", self._cell("due_on"), _("It is due before it was issued."))
        return issued_on, due_on

    def _money(self, currency: str | None) -> tuple[int | None, int | None]:
        """Return the unit price and the claimed total; where only a total is, it is the price."""

        def read(text: str) -> int:
            return values.minor(text, self._mark_of(text), currency or "")

        # Without its currency an amount cannot be read; the currency's problem says enough.
        if currency is None:
            return None, None
        amount = self._value("amount", read, required=not self._priced)
        if self._priced:
            return self._value("unit_price", read, required=True), amount
        rates = [name for name in ("tax_rate", "second_tax_rate") if self._cell(name)]
        if rates or self._cell("quantity") not in {"", "1"}:
            column = rates[0] if rates else "quantity"
            sentence = _("A quantity or tax rate needs a unit_price beside it.")
            self._tell(column, self._cell(column), sentence)
        return amount, None

    def _tax_rates(self) -> tuple[Decimal, Decimal]:
        """Return two rates, 0 for none; one alone is the first, in whichever column it stands."""
        first = self._value("tax_rate", self._tax_rate) or Decimal(0)
        second = self._value("second_tax_rate", self._tax_rate) or Decimal(0)
        if first and first == second:
            sentence = _("Both taxes have the same rate: write them as one, twice as much.")
            self._tell("second_tax_rate", self._cell("second_tax_rate"), sentence)
        return (first, second) if first else (second, first)

    # Cells ---------------------------------------------------------------------------------------

    def _cell(self, name: str) -> str:
        place = self._place.get(name)
        cells = self._row.cells
        return "" if place is None or place >= len(cells) else cells[place].strip()

    def _text(self, name: str) -> str:
        text = self._cell(name)
        if text and (sentence := _text_problem(name, text)):
            self._tell(name, text, sentence)
            return ""
        return text

    def _needed(self, name: str, sentence: str) -> str:
        if not self._cell(name):
            self._tell(name, "", sentence)
        return self._text(name)

    def _address(self) -> str:
        email = self._needed("customer_email", _("The customer's address is missing."))
        self._value("customer_email", values.address)
        return email

    def _value(self, name: str, read: Callable[[str], T], *, required: bool = False) -> T | None:
        text = self._cell(name)
        if not text:
            if required:
                self._tell(name, "", _("It is missing."))
            return None
        try:
            return read(text)
        except BadValue as problem:
            self._tell(name, text, str(problem))
        except _Undecided:
            pass
        return None

    def _day(self, text: str) -> date:
        if "dates" in self.conventions.undecided and values.date_orders(text):
            raise _Undecided
        return values.day(text, self.conventions.dates)

    def _quantity(self, text: str) -> Decimal:
        return values.quantity(text, self._mark_of(text))

    def _tax_rate(self, text: str) -> Decimal:
        return values.tax_rate(text, self._mark_of(text))

    def _mark_of(self, text: str) -> values.Mark:
        if "decimal" in self.conventions.undecided and values.is_telling(text):
            raise _Undecided
        return self.conventions.decimal

    def _tell(self, column: str, value: str, sentence: str) -> None:
        self.problems.add(
            Problem(line=self._row.line, column=column, value=shown(value), sentence=sentence)
        )


def _text_problem(name: str, text: str) -> str:
    longest = _LONGEST[name]
    if len(text) > longest:
        return _("This is longer than %(longest)s characters.") % {"longest": longest}
    # Quick for almost all: what is printable has neither control characters nor overrides.
    if text.isprintable():
        return ""
    try:
        (validation.plain_text if name in _MANY_LINES else validation.one_line)(text)
    except ValidationError as refusal:
        return str(refusal.message)
    return ""
