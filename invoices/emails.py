"""The kinds of e-mail an invoice gives rise to: what each says, and what it does to the invoice."""

import base64

from babel.dates import format_date
from django.conf import settings
from django.template.loader import render_to_string

from deliveries.errors import NotSendable
from deliveries.models import Delivery, Message
from invoices import money
from invoices.document import document_of, file_name
from invoices.models import Invoice
from invoices.pdf import InvoiceDocument, InvoiceNotRenderable, render
from invoices.problems import problems_of
from invoices.sending import KIND


class InvoiceEmail:
    """The invoice itself, as a PDF beside a short text."""

    name = KIND
    lane = "email"
    weight = 4.0  # A person is waiting; a reminder weighs 1.

    def compose(self, delivery: Delivery) -> Message:
        invoice = _invoice(delivery)
        if fatal := [problem.sentence for problem in problems_of(invoice) if problem.fatal]:
            raise NotSendable(" ".join(fatal))
        document = document_of(invoice)
        context = _context(invoice, document)
        return Message(
            from_address=_mailbox(invoice.organization.name, settings.EMAIL_FROM),
            to=[invoice.customer.email.strip()],
            reply_to=invoice.organization.email,
            subject=_one_line(f"Invoice {invoice.number} from {invoice.organization.name}"),
            text=render_to_string("email/invoice.txt", context),
            html=render_to_string("email/invoice.html", context),
            headers={"X-Correlation-ID": delivery.correlation_id},
            attachments=[_pdf(invoice, document)],
        )

    def still_wanted(self, delivery: Delivery) -> str:
        invoice = _invoice(delivery)
        if invoice.status == Invoice.Status.VOID:
            return f"Not sent: {invoice.number} was voided."
        if invoice.customer.removed_at is not None:
            return f"Not sent: the customer {invoice.customer} was removed."
        if invoice.organization.closed_at is not None:
            return f"Not sent: {invoice.organization} was closed."
        return ""

    def on_settled(self, delivery: Delivery) -> None:
        invoices = Invoice.objects.filter(pk=delivery.invoice_id)
        if delivery.status == Delivery.Status.SENT:
            invoices.filter(sent_at__isnull=True).update(sent_at=delivery.sent_at)
            invoices.filter(status__in=[Invoice.Status.SENDING, Invoice.Status.FAILED]).update(
                status=Invoice.Status.SENT, failure_reason=""
            )
        else:
            invoices.filter(status=Invoice.Status.SENDING).update(
                status=Invoice.Status.FAILED,
                failure_reason=delivery.last_error or "It was cancelled.",
            )

    def on_replayed(self, delivery: Delivery) -> None:
        Invoice.objects.filter(pk=delivery.invoice_id, status=Invoice.Status.FAILED).update(
            status=Invoice.Status.SENDING, failure_reason=""
        )


def _invoice(delivery: Delivery) -> Invoice:
    return (
        Invoice.objects.select_related("organization", "customer")
        .prefetch_related("lines")
        .get(pk=delivery.invoice_id, organization_id=delivery.organization_id)
    )


def _context(invoice: Invoice, document: InvoiceDocument) -> dict[str, object]:
    locale = document.locale
    return {
        "invoice": invoice,
        "organization": invoice.organization,
        "customer": invoice.customer,
        "amount": money.format_amount(document.amount_minor, document.currency, locale),
        "issued_on": format_date(invoice.issued_on, format="long", locale=locale),
        "due_on": format_date(invoice.due_on, format="long", locale=locale),
    }


def _pdf(invoice: Invoice, document: InvoiceDocument) -> dict[str, str]:
    try:
        content = render(document)
    except InvoiceNotRenderable as error:
        # Never an e-mail without its PDF.
        raise NotSendable(f"The PDF cannot be made: {error}") from error
    return {
        "filename": file_name(invoice),
        "content_type": "application/pdf",
        "content": base64.b64encode(content).decode(),
    }


def _mailbox(name: str, address: str) -> str:
    """Return a display name and an address as RFC 5322 wants them, the name always quoted."""
    quoted = _one_line(name).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <{address}>'


def _one_line(text: str) -> str:
    """Keep a name from becoming a header of its own, whatever way it came into the database."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
