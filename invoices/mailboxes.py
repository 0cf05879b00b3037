"""Customers' addresses from which e-mails came back, known before the next one is sent."""

from collections.abc import Sequence

from deliveries.models import Mailbox
from invoices.models import Invoice


def refusing(invoices: Sequence[Invoice]) -> dict[int, Mailbox]:
    """Return, by invoice, the mailbox of its customer's present address if it refuses e-mail.

    One query; the customers must be loaded. A corrected address is another mailbox, of which
    nothing bad is known.
    """
    wanted = {invoice.pk: _key(invoice) for invoice in invoices}
    found = Mailbox.objects.filter(
        organization__in={organization for organization, _ in wanted.values()},
        address__in={address for _, address in wanted.values() if address},
        came_back_at__isnull=False,
    )
    known = {(box.organization_id, box.address): box for box in found if box.refuses}
    return {pk: known[key] for pk, key in wanted.items() if key in known}


def _key(invoice: Invoice) -> tuple[int, str]:
    return invoice.organization_id, invoice.customer.email.strip().lower()
