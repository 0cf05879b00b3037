"""Telling what a person did to an invoice, where its story is read."""

from invoices.models import Invoice, InvoiceEvent


def tell(invoice: Invoice, sentence: str, *, user_id: int | None) -> None:
    """Append the step to the invoice's story; joins the caller's transaction."""
    InvoiceEvent.objects.create(invoice=invoice, sentence=sentence, actor_id=user_id)
