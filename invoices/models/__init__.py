"""Organizations, their people and customers, and the invoices they send."""

from invoices.models.batches import Batch, BatchItem
from invoices.models.branding import EmailText, Logo
from invoices.models.customers import Customer
from invoices.models.history import InvoiceEvent
from invoices.models.invitations import Invitation
from invoices.models.invoices import Invoice, InvoiceLine, InvoiceQuerySet
from invoices.models.organizations import ApiToken, Member, Organization
from invoices.models.uploads import Upload

__all__ = [
    "ApiToken",
    "Batch",
    "BatchItem",
    "Customer",
    "EmailText",
    "Invitation",
    "Invoice",
    "InvoiceEvent",
    "InvoiceLine",
    "InvoiceQuerySet",
    "Logo",
    "Member",
    "Organization",
    "Upload",
]
