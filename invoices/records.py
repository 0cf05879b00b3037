"""Invoices as programs read them: plain values for JSON, the same figures as page and PDF.

Amounts are decimal strings with all places of the currency; null where that is no currency that we
know. What is computed of the lines is computed by `invoices.money`, as everywhere.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from deliveries.models import Delivery
from invoices import money
from invoices.models import Customer, Invoice, InvoiceLine
from invoices.sending import KIND, last_delivery

Record = dict[str, Any]


def record_of(invoice: Invoice) -> Record:
    """Return all of an invoice whose customer is loaded; two queries."""
    lines = list(invoice.lines.all())
    return {
        **_summary(invoice, last_delivery(invoice)),
        "lines": [_line(line, invoice.currency) for line in lines],
        **_sums(invoice, lines),
        "paymentTerms": invoice.payment_terms,
        "notes": invoice.notes,
        "to": invoice.to,
        "cc": invoice.cc,
    }


def summaries_of(invoices: Sequence[Invoice]) -> list[Record]:
    """Return the invoices, customers loaded, without what stands in their lines; one query."""
    latest = {
        delivery.invoice_id: delivery
        for delivery in Delivery.objects.latest_of_each(list(invoices), kind=KIND)
    }
    return [_summary(invoice, latest.get(invoice.pk)) for invoice in invoices]


def delivery_record(delivery: Delivery) -> Record:
    """Return what the delivery's own address tells of it."""
    return {
        "deliveryId": delivery.pk,
        "status": delivery.status,
        "attempts": delivery.attempts,
        "nextAttemptAt": delivery.next_attempt_at,
        "error": delivery.last_error or None,
    }


def _summary(invoice: Invoice, delivery: Delivery | None) -> Record:
    return {
        "id": invoice.pk,
        "number": invoice.number,
        "status": invoice.status,
        "customer": _customer(invoice.customer),
        "currency": invoice.currency,
        "total": _amount(invoice.amount_minor, invoice.currency),
        "issuedOn": invoice.issued_on,
        "dueOn": invoice.due_on,
        "sentAt": invoice.sent_at,
        "paidAt": invoice.paid_at,
        "voidedAt": invoice.voided_at,
        "delivery": _delivery(delivery) if delivery else None,
    }


def _delivery(delivery: Delivery) -> Record:
    """A dead delivery that may have arrived is no failure: nobody knows, and programs must not."""
    return {
        **delivery_record(delivery),
        "sentAt": delivery.sent_at,
        "mayHaveArrived": delivery.may_have_arrived,
        "afterSending": delivery.after_sending or None,
        "afterSendingAt": delivery.after_sending_at,
    }


def _customer(customer: Customer) -> Record:
    return {
        "id": customer.pk,
        "name": customer.name,
        "email": customer.email,
        "address": customer.address,
        "taxId": customer.tax_id,
    }


def _line(line: InvoiceLine, currency: str) -> Record:
    return {
        "description": line.description,
        "quantity": _plain(line.quantity),
        "unitPrice": _amount(line.unit_price_minor, currency),
        "taxRates": [_plain(rate) for rate in money.rates_of(line)],
        "net": _amount(line.net_minor, currency),
    }


def _sums(invoice: Invoice, lines: Sequence[InvoiceLine]) -> Record:
    """What the lines come to; an amount without lines is its own subtotal, as in the PDF."""
    totals, currency = money.Totals(invoice.amount_minor or 0, (), 0), invoice.currency
    if lines:
        totals = money.totals(lines, discount_rate=invoice.discount_rate)
    known = bool(lines) or invoice.amount_minor is not None
    return {
        "subtotal": _amount(totals.net_minor, currency) if known else None,
        "discountRate": _plain(invoice.discount_rate),
        "discount": _amount(totals.discount_minor, currency),
        "taxes": [
            {
                "rate": _plain(tax.rate),
                "base": _amount(tax.base_minor, currency),
                "tax": _amount(tax.tax_minor, currency),
            }
            for tax in totals.taxes
        ],
    }


def _amount(amount_minor: int | None, currency: str) -> str | None:
    if amount_minor is None:
        return None
    try:
        return money.plain_amount(amount_minor, currency)
    except money.UnknownCurrency:
        return None


def _plain(figure: Decimal) -> str:
    return f"{figure.normalize():f}"
