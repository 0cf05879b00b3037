"""What an invoice document says, as values."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from invoices import money


@dataclass(frozen=True, kw_only=True)
class Party:
    """Who sends the invoice, or who gets it."""

    name: str
    address_lines: tuple[str, ...] = ()
    email: str = ""
    tax_id: str = ""


@dataclass(frozen=True, kw_only=True)
class DocumentLine:
    """One row of the table. Rates are in per cent: 7.5 is 7.5 %."""

    description: str
    quantity: Decimal
    unit_price_minor: int
    net_minor: int
    tax_rate: Decimal
    second_tax_rate: Decimal = Decimal(0)


@dataclass(frozen=True, kw_only=True)
class InvoiceDocument:
    """Everything that stands in the PDF: equal documents make equal bytes.

    Money is in minor units of `currency` (see invoices.money). `net_minor` is the sum of the lines,
    before the discount; `amount_minor` is what the customer owes, taxes included. Texts are data,
    whatever characters they hold; line breaks in them are kept. `logo` is a PNG or JPEG; one that
    cannot be read is left out. `created_at` is only the date in the PDF's metadata: midnight UTC of
    `issued_on` if None. A `void` document is marked as such on each page, and asks for no money.
    """

    number: str
    issued_on: date
    due_on: date
    currency: str
    locale: str
    sender: Party
    customer: Party
    lines: tuple[DocumentLine, ...]
    taxes: tuple[money.TaxAmount, ...]
    net_minor: int
    amount_minor: int
    discount_rate: Decimal = Decimal(0)
    discount_minor: int = 0
    payment_terms: str = ""
    payment_details: str = ""
    notes: str = ""
    logo: bytes | None = field(default=None, repr=False)
    created_at: datetime | None = None
    void: bool = False

    def texts(self) -> Iterator[str]:
        """Everything a person wrote: what `missing_glyphs` should be asked about."""
        for party in (self.sender, self.customer):
            yield from (party.name, *party.address_lines, party.email, party.tax_id)
        yield from (line.description for line in self.lines)
        yield from (self.number, self.payment_terms, self.payment_details, self.notes)

    def mistake_in_the_sums(self) -> str | None:
        """Say what does not add up. A document without lines has only its amount to go by."""
        taxes = sum(tax.tax_minor for tax in self.taxes)
        lines = sum(line.net_minor for line in self.lines)
        if self.net_minor - self.discount_minor + taxes != self.amount_minor:
            return "net and taxes do not add up to the invoice's amount"
        if self.lines and lines != self.net_minor:
            return "the lines do not add up to the invoice's net"
        if self.lines and self.taxes != self._taxes_of_the_lines:
            return "the taxes are not those of its lines"
        return None

    @property
    def _taxes_of_the_lines(self) -> tuple[money.TaxAmount, ...]:
        return money.totals(self.lines, discount_rate=self.discount_rate).taxes
