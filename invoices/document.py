"""An invoice of the database as the document that its PDF shows."""

import re
from dataclasses import replace
from decimal import Decimal

from invoices import branding, money
from invoices.models import Customer, Invoice, InvoiceLine, Organization
from invoices.pdf import DocumentLine, InvoiceDocument, Party


def document_of(invoice: Invoice) -> InvoiceDocument:
    """Return what the PDF of that invoice shows. Raise `ValueError` while it has no amount.

    An imported invoice may have an amount but no lines: then the amount is its only line.
    """
    return replace(_without_logo(invoice), logo=branding.logo_of(invoice.organization))


def _without_logo(invoice: Invoice) -> InvoiceDocument:
    if invoice.amount_minor is None:
        raise ValueError(f"Invoice {invoice.number} has no amount.")
    printed = tuple(_printed(line) for line in invoice.lines.all())
    lines = printed or (_only_line(invoice.number, invoice.amount_minor),)
    # An imported amount is what is owed: no discount is left to take off it.
    discount_rate = invoice.discount_rate.normalize() if printed else Decimal(0)
    totals = money.totals(lines, discount_rate=discount_rate)
    return InvoiceDocument(
        number=invoice.number,
        issued_on=invoice.issued_on,
        due_on=invoice.due_on,
        currency=invoice.currency,
        locale=locale_of(invoice),
        sender=_sender(invoice.organization),
        customer=_customer(invoice.customer),
        lines=lines,
        taxes=totals.taxes,
        net_minor=totals.net_minor,
        amount_minor=invoice.amount_minor,
        discount_rate=discount_rate,
        discount_minor=totals.discount_minor,
        payment_terms=invoice.payment_terms,
        payment_details=invoice.organization.payment_details,
        notes=invoice.notes,
    )


def mistake_in_the_sums(invoice: Invoice) -> str | None:
    """Say why the PDF would refuse the invoice's amount; None where it agrees with the lines."""
    return _without_logo(invoice).mistake_in_the_sums()


def locale_of(invoice: Invoice) -> str:
    """Return the customer's language, or the organization's where none is known."""
    return (invoice.customer.language or invoice.organization.language).replace("-", "_")


def file_name(invoice: Invoice) -> str:
    """Return what the PDF is called on the customer's disk: the number, as far as names allow."""
    return file_name_of(invoice.number)


def file_name_of(number: str) -> str:
    """Return the number as a file's name: letters, digits, dots and hyphens, whatever it holds."""
    stem = re.sub(r"[^\w.-]+", "-", number).strip("-.")
    return f"{stem or 'invoice'}.pdf"


def _printed(line: InvoiceLine) -> DocumentLine:
    return DocumentLine(
        description=line.description,
        quantity=line.quantity,
        unit_price_minor=line.unit_price_minor,
        net_minor=line.net_minor,
        tax_rate=line.tax_rate,
        second_tax_rate=line.second_tax_rate,
    )


def _only_line(number: str, amount_minor: int) -> DocumentLine:
    return DocumentLine(
        description=f"Invoice {number}",
        quantity=Decimal(1),
        unit_price_minor=amount_minor,
        net_minor=amount_minor,
        tax_rate=Decimal(0),
    )


def _sender(organization: Organization) -> Party:
    return Party(
        name=organization.name,
        address_lines=tuple(organization.address.splitlines()),
        email=organization.email,
        tax_id=organization.tax_id,
    )


def _customer(customer: Customer) -> Party:
    return Party(
        name=customer.name or customer.email,
        address_lines=tuple(customer.address.splitlines()),
        email=customer.email,
        tax_id=customer.tax_id,
    )
