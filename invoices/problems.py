"""What stands in the way of an invoice's e-mail, told before the click."""

from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from invoices.models import Invoice


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A sentence that says what to do; a fatal one keeps the e-mail from being composed."""

    sentence: str
    fatal: bool


def problems_of(invoice: Invoice) -> list[Problem]:
    """Return what a person should mend before sending; needs `invoice.customer` loaded."""
    found = []
    if invoice.amount_minor is None:
        found.append(Problem(sentence="The invoice has no amount: enter its lines.", fatal=True))
    address = invoice.customer.email.strip()
    if not address:
        found.append(
            Problem(
                sentence=f"{_name(invoice)} has no e-mail address: enter one.",
                fatal=True,
            )
        )
    elif _unsafe(address):
        found.append(
            Problem(sentence="The customer's address is not one address: correct it.", fatal=True)
        )
    elif not _plausible(address):
        found.append(
            Problem(
                sentence=f"“{address}” does not look like an e-mail address: correct it.",
                fatal=False,
            )
        )
    if not invoice.customer.name.strip():
        found.append(
            Problem(sentence="The customer has no name: the invoice will show none.", fatal=False)
        )
    return found


def _name(invoice: Invoice) -> str:
    return invoice.customer.name.strip() or "The customer"


def _unsafe(address: str) -> bool:
    """Tell what could become a second recipient, or a header of its own, on the way."""
    return not address.isprintable() or any(character in ',;<>"' for character in address)


def _plausible(address: str) -> bool:
    try:
        validate_email(address)
    except ValidationError:
        return False
    return True
