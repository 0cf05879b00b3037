"""A row of the invoice list."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import prefetch_related_objects

from deliveries.models import Delivery
from invoices.models import Invoice, Member
from invoices.pages.batch_notes import BatchNote, running_batch_of
from invoices.pages.formats import Formats
from invoices.pages.notices import Notice
from invoices.pages.refusals import Warned, warnings
from invoices.pages.reminders import LastReminder, last_reminders
from invoices.pages.states import (
    EmailState,
    Pill,
    email_state,
    overdue_note,
    payment_state,
)
from invoices.problems import problems_of
from invoices.sending import KIND, is_sendable


@dataclass(frozen=True, kw_only=True)
class InvoiceRow:
    id: int
    number: str
    customer_name: str
    customer_email: str
    amount: str
    due_iso: str
    due_text: str
    overdue: str
    payment: Pill
    email: EmailState
    reminder: LastReminder | None
    batch: BatchNote | None
    sendable: bool
    # Counted as sent, by other means: no e-mail of it went out from here.
    sent_elsewhere: bool
    problems: tuple[str, ...]
    # Names what the reader sees that may change: the page sends it back to ask for news.
    version: str


def invoice_rows(
    invoices: Sequence[Invoice],
    *,
    member: Member,
    formats: Formats,
    notices: tuple[Notice, ...],
) -> list[InvoiceRow]:
    """Return a row for each invoice, whose customer must be loaded; at most three queries."""
    latest = {
        delivery.invoice_id: delivery
        for delivery in Delivery.objects.latest_of_each(list(invoices), kind=KIND)
    }
    reminded = last_reminders(invoices, formats)
    running = running_batch_of(invoices)
    # Whether the amount agrees with the lines is told of what can still be mended.
    prefetch_related_objects([each for each in invoices if each.is_correctable], "lines")
    warned = warnings(
        [each for each in invoices if _is_to_be_sent(each, latest.get(each.pk))], formats
    )
    return [
        _row(
            invoice,
            latest.get(invoice.pk),
            reminded.get(invoice.pk),
            running.get(invoice.pk),
            warned.get(invoice.pk, ()),
            member=member,
            formats=formats,
            notices=notices,
        )
        for invoice in invoices
    ]


def _row(
    invoice: Invoice,
    delivery: Delivery | None,
    reminder: LastReminder | None,
    batch: BatchNote | None,
    warned: tuple[Warned, ...],
    *,
    member: Member,
    formats: Formats,
    notices: tuple[Notice, ...],
) -> InvoiceRow:
    email = email_state(invoice, delivery, formats)
    payment = payment_state(invoice, formats)
    problems = problems_to_mend(invoice, email, warned)
    amount = invoice.amount_minor
    return InvoiceRow(
        id=invoice.pk,
        number=invoice.number,
        customer_name=invoice.customer.name.strip(),
        customer_email=invoice.customer.email.strip(),
        amount="" if amount is None else formats.amount(amount, invoice.currency),
        due_iso=invoice.due_on.isoformat(),
        due_text=formats.short_day(invoice.due_on),
        overdue=overdue_note(invoice, formats),
        payment=payment,
        email=email,
        reminder=reminder,
        batch=batch,
        sendable=member.may_send and is_sendable(invoice, delivery),
        sent_elsewhere=(
            member.may_send and delivery is None and invoice.status == Invoice.Status.SENT
        ),
        problems=problems,
        version=fingerprint(email, payment, reminder, batch, problems, notices),
    )


def _is_to_be_sent(invoice: Invoice, delivery: Delivery | None) -> bool:
    """Whether its row leads to a first e-mail: a draft, one on hold, one sent by other means."""
    sent_elsewhere = delivery is None and invoice.status == Invoice.Status.SENT
    return invoice.is_correctable or sent_elsewhere


def problems_to_mend(
    invoice: Invoice, email: EmailState, warned: Sequence[Warned]
) -> tuple[str, ...]:
    """Return what stands in the way, while something can still be done about it.

    `warned` is what is to be said of its recipients, where a send can be started.
    """
    problems = problems_of(invoice) if invoice.is_correctable else []
    sentences = [problem.sentence for problem in problems]
    sentences += [each.sentence for each in warned]
    # The e-mail's state may say the same already, as the reason why it was not sent.
    return tuple(sentence for sentence in sentences if sentence not in email.detail)


def fingerprint(*shown: object) -> str:
    """Name a page's contents: equal values of frozen dataclasses have equal names."""
    return hashlib.blake2b(repr(shown).encode(), digest_size=8).hexdigest()
