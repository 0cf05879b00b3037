"""What an e-mail would look like: for an invoice of the organization's, else for a sample."""

from dataclasses import dataclass
from datetime import date, timedelta

from django.conf import settings

from invoices import letters, money
from invoices.letters import Letter, Words
from invoices.models import Customer, EmailText, Invoice, Organization


@dataclass(frozen=True, kw_only=True)
class Preview:
    letter: Letter
    sender: str
    recipient: str
    # Empty for a sample.
    number: str


def preview(organization: Organization, kind: str, words: Words, *, today: date) -> Preview:
    """Write the e-mail that would be sent today with these words; one query."""
    invoice = _newest(organization, kind)
    if invoice is not None:
        try:
            return _preview(invoice, kind, words, today=today)
        except (money.UnknownCurrency, money.UnknownLocale):
            pass  # An imported invoice may have either; its page says so.
    return _preview(_sample(organization, today), kind, words, today=today)


def _preview(invoice: Invoice, kind: str, words: Words, *, today: date) -> Preview:
    reminder = kind == EmailText.Kind.REMINDER
    days = max(1, (today - invoice.due_on).days) if reminder else None
    organization = invoice.organization
    return Preview(
        letter=letters.letter_of(invoice, kind, words, days_overdue=days),
        sender=letters.mailbox(organization.sender_name or organization.name, settings.EMAIL_FROM),
        recipient=invoice.customer.email,
        number=invoice.number if invoice.pk else "",
    )


def _newest(organization: Organization, kind: str) -> Invoice | None:
    invoices = Invoice.objects.of(organization).filter(amount_minor__isnull=False)
    if kind == EmailText.Kind.REMINDER:
        invoices = invoices.filter(status=Invoice.Status.SENT)
    newest = invoices.select_related("customer").order_by("-issued_on", "-id").first()
    if newest is not None:
        newest.organization = organization
    return newest


def _sample(organization: Organization, today: date) -> Invoice:
    known = organization.language in {"en", "en-NG", "en-GB", "en-US"}
    return Invoice(
        organization=organization,
        customer=Customer(
            organization=organization,
            name="Sample Customer Ltd",
            email="accounts@customer.example",
            language=organization.language if known else "en",
        ),
        number="INV-0042",
        currency="EUR",
        amount_minor=125_000,
        issued_on=today - timedelta(days=20),
        due_on=today - timedelta(days=6),
    )
