"""The kinds of e-mail an invoice gives rise to: what each says, and what it does to the invoice."""

import base64

from babel.dates import format_date
from django.conf import settings
from django.db.models import F
from django.template.loader import render_to_string

from deliveries.errors import NotSendable
from deliveries.models import Delivery, Message
from invoices import money, reminders, sending
from invoices.addresses import on_the_wire, recipients_of
from invoices.document import document_of, file_name, locale_of
from invoices.models import Invoice
from invoices.pdf import InvoiceNotRenderable, render
from invoices.problems import problems_of

PDF = "application/pdf"


class InvoiceEmail:
    """The invoice itself, as a PDF beside a short text."""

    name = sending.KIND
    lane = "email"
    weight = 4.0  # A person is waiting; a reminder weighs 1.

    def compose(self, delivery: Delivery) -> Message:
        invoice = _sendable_invoice(delivery)
        subject = f"Invoice {invoice.number} from {invoice.organization.name}"
        # Sent again, it is the same document: nothing of an invoice changes once it was sent.
        pdf = _pdf_as_first_sent(invoice) or _pdf(invoice)
        return _letter(delivery, invoice, "invoice", subject, pdf=pdf)

    def still_wanted(self, delivery: Delivery) -> str:
        return _no_longer_wanted(_invoice(delivery))

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


class ReminderEmail:
    """A reminder of an overdue invoice, with the PDF exactly as it was first sent."""

    name = reminders.KIND
    lane = "email"
    weight = 1.0

    def compose(self, delivery: Delivery) -> Message:
        invoice = _sendable_invoice(delivery)
        days = reminders.days_overdue(invoice, reminders.day_of(delivery))
        overdue = f"{days} day overdue" if days == 1 else f"{days} days overdue"
        return _letter(
            delivery,
            invoice,
            "reminder",
            f"Reminder: invoice {invoice.number} is {overdue}",
            pdf=_pdf_as_first_sent(invoice) or _pdf(invoice),
            days_overdue=days,
        )

    def still_wanted(self, delivery: Delivery) -> str:
        """Ask again right before composing: much can happen between 08:00 and the hand-over."""
        invoice = _invoice(delivery)
        return _no_longer_wanted(invoice) or reminders.obsolete(delivery, invoice)

    def on_settled(self, delivery: Delivery) -> None:
        """The invoice's own state is about the invoice's e-mail, not about its reminders."""

    def on_replayed(self, delivery: Delivery) -> None:
        """Nothing of the invoice follows a reminder."""


def _no_longer_wanted(invoice: Invoice) -> str:
    if invoice.status == Invoice.Status.VOID:
        return f"Not sent: {invoice.number} was voided."
    if invoice.customer.removed_at is not None:
        return f"Not sent: the customer {invoice.customer} was removed."
    if invoice.organization.closed_at is not None:
        return f"Not sent: {invoice.organization} was closed."
    return ""


def _invoice(delivery: Delivery) -> Invoice:
    return (
        Invoice.objects.select_related("organization", "customer")
        .prefetch_related("lines")
        .get(pk=delivery.invoice_id, organization_id=delivery.organization_id)
    )


def _sendable_invoice(delivery: Delivery) -> Invoice:
    invoice = _invoice(delivery)
    if fatal := [problem.sentence for problem in problems_of(invoice) if problem.fatal]:
        raise NotSendable(" ".join(fatal))
    return invoice


def _letter(
    delivery: Delivery,
    invoice: Invoice,
    template: str,
    subject: str,
    *,
    pdf: dict[str, str],
    **context: object,
) -> Message:
    locale, recipients = locale_of(invoice), recipients_of(invoice)
    context |= {
        "subject": subject,
        "invoice": invoice,
        "organization": invoice.organization,
        "customer": invoice.customer,
        "amount": money.format_amount(invoice.amount_minor or 0, invoice.currency, locale),
        "issued_on": format_date(invoice.issued_on, format="long", locale=locale),
        "due_on": format_date(invoice.due_on, format="long", locale=locale),
    }
    return Message(
        from_address=_mailbox(invoice.organization.name, settings.EMAIL_FROM),
        to=[on_the_wire(address) for address in recipients.to],
        cc=[on_the_wire(address) for address in recipients.cc],
        reply_to=invoice.organization.email,
        subject=_one_line(subject),
        text=render_to_string(f"email/{template}.txt", context),
        html=render_to_string(f"email/{template}.html", context),
        headers={"X-Correlation-ID": delivery.correlation_id},
        attachments=[pdf],
    )


def _pdf(invoice: Invoice) -> dict[str, str]:
    try:
        content = render(document_of(invoice))
    except InvoiceNotRenderable as error:
        # Never an e-mail without its PDF.
        raise NotSendable(f"The PDF cannot be made: {error}") from error
    return {
        "filename": file_name(invoice),
        "content_type": PDF,
        "content": base64.b64encode(content).decode(),
    }


def _pdf_as_first_sent(invoice: Invoice) -> dict[str, str] | None:
    message = (
        Message.objects.filter(
            delivery__invoice=invoice,
            delivery__kind=sending.KIND,
            delivery__status=Delivery.Status.SENT,
            idempotency_key=F("delivery__idempotency_key"),
        )
        .order_by("pk")
        .first()
    )
    attachments = message.attachments if message else []
    return next((part for part in attachments if part["content_type"] == PDF), None)


def _mailbox(name: str, address: str) -> str:
    """Return a display name and an address as RFC 5322 wants them, the name always quoted."""
    quoted = _one_line(name).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <{address}>'


def _one_line(text: str) -> str:
    """Keep a name from becoming a header of its own, whatever way it came into the database."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
