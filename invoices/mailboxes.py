"""Addresses from which e-mails came back, known before the next one goes to them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from deliveries.models import Mailbox
from invoices.addresses import Recipients, on_the_wire, recipients_of
from invoices.models import Customer, Invoice

# Whose mailbox: the organization that writes to it, and the address as it goes out.
Key = tuple[int, str]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A recipient whose mailbox refuses e-mail, the address as people write it."""

    address: str
    mailbox: Mailbox
    # It is the customer's own: there it is corrected, not at the invoice.
    own: bool


def refusing(invoices: Sequence[Invoice]) -> dict[int, tuple[Refusal, ...]]:
    """Return, by invoice, those of its recipients whose mailboxes refuse e-mail; one query.

    The customers must be loaded. A corrected address is another mailbox, of which nothing bad is
    known; the customer's address is nobody's here where the invoice goes to others.
    """
    wanted = {invoice.pk: (invoice.organization_id, recipients_of(invoice)) for invoice in invoices}
    known = find(key(organization, one) for organization, who in wanted.values() for one in who.all)
    found = {pk: _refusals(organization, who, known) for pk, (organization, who) in wanted.items()}
    return {pk: refusals for pk, refusals in found.items() if refusals}


def nobody_takes_it(invoice: Invoice) -> bool:
    """Whether every recipient's mailbox refuses e-mail; one query."""
    refusals = refusing([invoice]).get(invoice.pk, ())
    return all_refuse(invoice, refusals)


def all_refuse(invoice: Invoice, refusals: Sequence[Refusal]) -> bool:
    """Whether these are all of the invoice's recipients: an e-mail would reach nobody."""
    return bool(refusals) and len(refusals) == len(recipients_of(invoice).all)


def of_customers(customers: Sequence[Customer]) -> dict[int, Mailbox]:
    """Return, by customer, the mailbox of the present address if it refuses e-mail; one query."""
    wanted = {customer.pk: key(customer.organization_id, customer.email) for customer in customers}
    known = find(wanted.values())
    return {pk: known[asked] for pk, asked in wanted.items() if asked in known}


def key(organization_id: int, address: str) -> Key:
    return organization_id, on_the_wire(address).lower()


def find(keys: Iterable[Key]) -> dict[Key, Mailbox]:
    """Return those of the mailboxes that refuse e-mail; one query, however many are asked about."""
    asked: Collection[Key] = {each for each in keys if each[1]}
    if not asked:
        return {}
    organizations, addresses = zip(*asked, strict=True)
    boxes = Mailbox.objects.raw(_FOUND, [list(organizations), list(addresses)])
    return {(box.organization_id, box.address): box for box in boxes if box.refuses}


# Pairs, and not ten thousand placeholders: a run of reminders asks about so many.
_FOUND = """
    SELECT known.* FROM unnest(%s::bigint[], %s::text[]) AS asked (organization_id, address)
    JOIN deliveries_mailbox known USING (organization_id, address)
    WHERE known.came_back_at IS NOT NULL
"""


def _refusals(
    organization_id: int, recipients: Recipients, known: dict[Key, Mailbox]
) -> tuple[Refusal, ...]:
    keys = {address: key(organization_id, address) for address in recipients.all}
    return tuple(
        Refusal(
            address=address, mailbox=known[each], own=recipients.own and address in recipients.to
        )
        for address, each in keys.items()
        if each in known
    )
