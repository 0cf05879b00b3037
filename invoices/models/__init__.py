"""Organizations, their people and customers, and the invoices they send."""

from invoices.models.customers import Customer
from invoices.models.invoices import Invoice, InvoiceLine, InvoiceQuerySet
from invoices.models.organizations import ApiToken, Member, Organization

__all__ = [
    "ApiToken",
    "Customer",
    "Invoice",
    "InvoiceLine",
    "InvoiceQuerySet",
    "Member",
    "Organization",
]
