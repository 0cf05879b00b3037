"""What a person corrects so that an e-mail can go out, told in the timelines it matters to."""

from collections.abc import Collection

from django.db import transaction

from deliveries import ledger
from deliveries.models import Delivery
from invoices import history
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
            sentence=f"The customer's {_listed(words)} corrected{_to(customer, changed)}.",
            actor_id=user_id,
        )


def invoice_corrected(invoice: Invoice, *, user_id: int, changed: Collection[str] = ()) -> None:
    """Record in the invoice's story that it was changed; joins the caller's transaction.

    `changed` names what was, in words: "lines", "due date".
    """
    verb = "changed" if invoice.status == Invoice.Status.DRAFT else "corrected"
    what = f"The invoice's {_listed(list(changed))}" if changed else "The invoice was"
    history.tell(invoice, f"{what} {verb}.", user_id=user_id)


def _to(customer: Customer, changed: Collection[str]) -> str:
    """Return the new address: which one an e-mail went to is what people ask."""
    return f": now {customer.email or 'none'}" if "email" in changed else ""


def _listed(words: list[str]) -> str:
    """Return "lines were", "name and due date were", "due date was"."""
    verb = "were" if len(words) > 1 or words[0].endswith("lines") else "was"
    listed = " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    return f"{listed} {verb}"
