"""The kinds of e-mail an invoice gives rise to: what each says, and what it does to the invoice."""

import base64

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from deliveries.errors import NotSendable
from deliveries.models import Delivery, Message
from invoices import letters, reminders, sending
from invoices.addresses import on_the_wire, recipients_of
from invoices.document import document_of, file_name
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
        words = letters.words_of(invoice.organization, self.name)
        letter = letters.letter_of(invoice, self.name, words)
        # Sent again, it is the same document: nothing of an invoice changes once it was sent.
        pdf = _pdf_as_first_sent(invoice) or _pdf(invoice)
        return _message(delivery, invoice, letter, pdf=pdf)

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
        letter = letters.letter_of(
            invoice,
            self.name,
            letters.words_of(invoice.organization, self.name),
            days_overdue=reminders.days_overdue_today(invoice, delivery, timezone.now()),
        )
        return _message(delivery, invoice, letter, pdf=_pdf_as_first_sent(invoice) or _pdf(invoice))

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


def _message(
    delivery: Delivery, invoice: Invoice, letter: letters.Letter, *, pdf: dict[str, str]
) -> Message:
    organization, recipients = invoice.organization, recipients_of(invoice)
    return Message(
        from_address=letters.mailbox(
            organization.sender_name or organization.name, settings.EMAIL_FROM
        ),
        to=[on_the_wire(address) for address in recipients.to],
        cc=[on_the_wire(address) for address in recipients.cc],
        reply_to=on_the_wire(organization.email),
        subject=letter.subject,
        text=letter.text,
        html=letter.html,
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
