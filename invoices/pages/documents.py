"""The PDF behind an invoice's page: as it is handed over, or as it would be."""

import base64
from dataclasses import dataclass, replace

from django.db.models import Q

from deliveries.models import Delivery, Message
from invoices.document import document_of, file_name, file_name_of
from invoices.models import Invoice
from invoices.pdf import render
from invoices.sending import KIND

_PDF = "application/pdf"


@dataclass(frozen=True, kw_only=True)
class Pdf:
    name: str
    content: bytes


def pdf_of(invoice: Invoice) -> Pdf | None:
    """Return the document; None while the invoice has no amount. Raises InvoiceNotRenderable.

    Once it is stored for the provider, those bytes are the document, whatever a template or a
    customer's address has become since, and whether or not the invoice was voided. After a known
    refusal it would be composed anew. What is made now of a void invoice is marked as such.
    """
    stored = _stored(invoice)
    if stored is not None:
        return stored
    if invoice.amount_minor is None:
        return None
    # Here and not in the document: an e-mail under way while its invoice is voided bears no mark.
    document = replace(document_of(invoice), void=invoice.status == Invoice.Status.VOID)
    return Pdf(name=file_name(invoice), content=render(document))


def _stored(invoice: Invoice) -> Pdf | None:
    known_refusal = Q(
        delivery__status__in=[Delivery.Status.DEAD, Delivery.Status.CANCELLED],
        delivery__handed_over_at__isnull=True,
    )
    message = (
        Message.objects.filter(delivery__invoice=invoice, delivery__kind=KIND)
        .exclude(known_refusal)
        .only("attachments")
        .last()
    )
    for attachment in message.attachments if message else ():
        if attachment["content_type"] == _PDF:
            content = base64.b64decode(attachment["content"])
            # Whatever named it when it was sent: it stands in a header now.
            name = file_name_of(attachment["filename"].removesuffix(".pdf"))
            return Pdf(name=name, content=content)
    return None
