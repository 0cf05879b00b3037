"""What a person corrects so that an e-mail can go out, told in the timelines it matters to."""

from collections.abc import Collection

from django.db import transaction

from deliveries import ledger
from deliveries.models import Delivery
from invoices.models import Customer, Invoice

_CUSTOMER_WORDS = {
    "name": "name",
    "email": "e-mail address",
    "address": "postal address",
    "tax_id": "tax id",
    "language": "language",
}


def customer_corrected(customer: Customer, changed: Collection[str], *, user_id: int) -> None:
    """Record it for the customer's invoices whose e-mails wait or are dead; one transaction."""
    words = [word for field, word in _CUSTOMER_WORDS.items() if field in changed]
    if not words:
        return
    open_deliveries = Delivery.objects.filter(
        invoice__in=Invoice.objects.filter(customer=customer),
        status__in=[*Delivery.WAITING, Delivery.Status.DEAD],
    )
    with transaction.atomic():
        invoice_ids = set(open_deliveries.values_list("invoice_id", flat=True))
        ledger.note_correction(
            invoice_ids,
            sentence=f"The customer's {_listed(words)} was corrected.",
            actor_id=user_id,
        )


def invoice_corrected(invoice: Invoice, *, user_id: int) -> None:
    """Record it in the timelines of the invoice's e-mails that wait or are dead."""
    with transaction.atomic():
        ledger.note_correction(
            [invoice.pk], sentence="The invoice was corrected.", actor_id=user_id
        )


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
