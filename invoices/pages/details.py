"""An invoice's page: the document in figures, beside the panel about its e-mail."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from invoices import money
from invoices.models import Invoice, InvoiceLine
from invoices.pages.formats import Formats
from invoices.pages.states import overdue_note


@dataclass(frozen=True, kw_only=True)
class LineRow:
    description: str
    quantity: str
    unit_price: str
    tax: str
    amount: str


@dataclass(frozen=True, kw_only=True)
class Sum:
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class InvoicePage:
    id: int
    number: str
    customer_name: str
    customer_email: str
    customer_address: str
    customer_tax_id: str
    # Empty while it is not known.
    amount: str
    currency: str
    issued_on: str
    due_on: str
    overdue: str
    lines: tuple[LineRow, ...]
    sums: tuple[Sum, ...]
    payment_terms: str
    notes: str


def invoice_page(invoice: Invoice, *, formats: Formats) -> InvoicePage:
    """Return the page of an invoice whose customer is loaded; one query, for the lines."""
    customer, amount = invoice.customer, invoice.amount_minor
    lines = list(invoice.lines.all())
    return InvoicePage(
        id=invoice.pk,
        number=invoice.number,
        customer_name=customer.name.strip(),
        customer_email=customer.email.strip(),
        customer_address=customer.address,
        customer_tax_id=customer.tax_id,
        amount="" if amount is None else formats.amount(amount, invoice.currency),
        currency=invoice.currency,
        issued_on=formats.day(invoice.issued_on),
        due_on=formats.day(invoice.due_on),
        overdue=overdue_note(invoice, formats),
        lines=tuple(_line(line, invoice.currency, formats) for line in lines),
        sums=sums_of(lines, invoice.discount_rate, invoice.currency, formats),
        payment_terms=invoice.payment_terms,
        notes=invoice.notes,
    )


def _line(line: InvoiceLine, currency: str, formats: Formats) -> LineRow:
    return LineRow(
        description=line.description,
        quantity=formats.number(line.quantity.normalize()),
        unit_price=formats.figure(line.unit_price_minor, currency),
        tax=" + ".join(formats.percent(rate.normalize()) for rate in money.rates_of(line)),
        amount=formats.figure(line.net_minor, currency),
    )


def sums_of(
    lines: Sequence[money.HasNet], discount_rate: Decimal, currency: str, formats: Formats
) -> tuple[Sum, ...]:
    """Net, discount, a row for each tax rate, total: as the PDF adds up."""
    if not lines:
        return ()
    totals = money.totals(lines, discount_rate=discount_rate)
    taxes = (
        Sum(
            title=_tax_title(tax.rate, formats.amount(tax.base_minor, currency), formats),
            text=formats.amount(tax.tax_minor, currency),
        )
        for tax in totals.taxes
    )
    return (
        Sum(title=_("Subtotal"), text=formats.amount(totals.net_minor, currency)),
        *_discount(discount_rate, formats.amount(-totals.discount_minor, currency), formats),
        *taxes,
        Sum(title=_("Total"), text=formats.amount(totals.gross_minor, currency)),
    )


def _discount(rate: Decimal, amount: str, formats: Formats) -> list[Sum]:
    if not rate:
        return []
    title = _("Discount %(rate)s") % {"rate": formats.percent(rate.normalize())}
    return [Sum(title=title, text=amount)]


def _tax_title(rate: Decimal, base: str, formats: Formats) -> str:
    return _("Tax %(rate)s on %(base)s") % {
        "rate": formats.percent(rate.normalize()),
        "base": base,
    }
