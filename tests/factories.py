"""Makes what tests need, with literal, unsurprising values."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from deliveries import kinds, ledger
from deliveries.models import Delivery, Message
from deliveries.policy import Policy
from invoices import money
from invoices.models import Customer, Invoice, InvoiceLine, Member, Organization

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)  # A Monday.

_numbers = count(1)


def make_organization(slug: str = "mainland-supplies", **values: object) -> Organization:
    defaults: dict[str, object] = {
        "name": "Mainland Supplies Ltd",
        "email": "billing@mainland-supplies.example",
        "address": "14 Broad Street\nLagos",
        "language": "en-NG",
        "time_zone": "Africa/Lagos",
    }
    return Organization.objects.create(slug=slug, **(defaults | values))


def make_member(organization: Organization, username: str, role: str = "member") -> User:
    user = User.objects.create_user(username, f"{username}@people.example", "a long password 1")
    Member.objects.create(organization=organization, user=user, role=role)
    return user


def make_invoice(
    organization: Organization,
    *,
    email: str = "accounts@mamaput.example",
    customer_name: str = "Mama Put Kitchen",
    amount_minor: int | None = 4_500_000,
    currency: str = "NGN",
    status: str = "draft",
    **values: object,
) -> Invoice:
    customer = Customer.objects.create(
        organization=organization, name=customer_name, email=email, address="12 Market Road"
    )
    line = InvoiceLine(
        position=1,
        description="Rice, 50 kg bags",
        quantity=Decimal(1),
        unit_price_minor=amount_minor or 0,
    )
    defaults: dict[str, object] = {
        "number": f"INV-{next(_numbers):04}",
        "issued_on": date(2026, 3, 2),
        "due_on": date(2026, 3, 16),
    }
    invoice = Invoice.objects.create(
        organization=organization,
        customer=customer,
        currency=currency,
        status=status,
        amount_minor=None if amount_minor is None else money.totals([line]).gross_minor,
        **(defaults | values),
    )
    if amount_minor is not None:
        line.invoice = invoice
        line.save()
    return invoice


def make_delivery(
    invoice: Invoice, *, key: str | None = None, now: datetime | None = NOW
) -> Delivery:
    """Request the invoice's e-mail as the Send button does."""
    with transaction.atomic():
        Invoice.objects.filter(pk=invoice.pk, status="draft").update(status="sending")
        return ledger.request(
            invoice,
            kind=kinds.get("invoice"),
            dedupe_key=key or f"invoice:{invoice.pk}",
            reference=invoice.number,
            now=now,
        ).delivery


def make_message(**values: object) -> Message:
    defaults: dict[str, object] = {
        "from_address": '"Mainland Supplies Ltd" <invoices@invoicehub.example>',
        "to": ["accounts@mamaput.example"],
        "subject": "Invoice INV-0001 from Mainland Supplies Ltd",
        "text": "Please find the invoice attached.",
        "html": "<p>Please find the invoice attached.</p>",
        "headers": {"X-Correlation-ID": "req-41"},
        "attachments": [
            {"filename": "INV-0001.pdf", "content_type": "application/pdf", "content": "JVBERg=="}
        ],
    }
    return Message(**(defaults | values))


def make_policy(**values: Any) -> Policy:
    return replace(Policy.from_settings(), **values)
