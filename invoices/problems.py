"""What stands in the way of an invoice's e-mail, told before the click."""

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _

from invoices.addresses import MOST, fault_of, recipients_of
from invoices.document import mistake_in_the_sums
from invoices.models import Invoice


class Place(StrEnum):
    """Where a person mends a problem."""

    INVOICE = "invoice"
    CUSTOMER = "customer"


class Kind(StrEnum):
    """What many invoices' problems are counted by."""

    NO_AMOUNT = "no_amount"
    WRONG_SUM = "wrong_sum"
    NO_ADDRESS = "no_address"
    BAD_ADDRESS = "bad_address"
    NO_NAME = "no_name"
    REMOVED = "removed"
    # Known of the mailbox, not of the invoice; see invoices.mailboxes.
    CAME_BACK = "came_back"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A sentence that says what to do; a fatal one keeps the e-mail from being composed."""

    kind: Kind
    sentence: str
    fatal: bool
    place: Place = Place.INVOICE


def problems_of(invoice: Invoice) -> list[Problem]:
    """Return what a person should mend before sending.

    Needs `invoice.customer` loaded, and `lines` prefetched where many invoices are asked about.
    """
    return [*_of_the_amount(invoice), *_of_the_recipients(invoice), *_of_the_customer(invoice)]


def _of_the_amount(invoice: Invoice) -> list[Problem]:
    if invoice.amount_minor is None:
        sentence = _("The invoice has no amount: enter its lines.")
        return [Problem(kind=Kind.NO_AMOUNT, sentence=sentence, fatal=True)]
    if mistake_in_the_sums(invoice):
        sentence = _(
            "The invoice's amount is not what its lines come to: open it and save it again."
        )
        return [Problem(kind=Kind.WRONG_SUM, sentence=sentence, fatal=True)]
    return []


def _of_the_recipients(invoice: Invoice) -> list[Problem]:
    recipients = recipients_of(invoice)
    if not recipients.to:
        sentence = _("%(customer)s has no e-mail address: enter one.") % {
            "customer": _name(invoice)
        }
        return [Problem(kind=Kind.NO_ADDRESS, sentence=sentence, fatal=True, place=Place.CUSTOMER)]
    found = []
    if len(recipients.all) > MOST:
        sentence = _("At most %(most)s addresses can get one e-mail.") % {"most": MOST}
        found.append(Problem(kind=Kind.BAD_ADDRESS, sentence=sentence, fatal=True))
    for address in recipients.all:
        if fault := fault_of(address):
            own = recipients.own and address in recipients.to
            place = Place.CUSTOMER if own else Place.INVOICE
            found.append(
                Problem(
                    kind=Kind.BAD_ADDRESS, sentence=fault.sentence, fatal=fault.fatal, place=place
                )
            )
    return found


def _of_the_customer(invoice: Invoice) -> list[Problem]:
    if invoice.customer.removed_at is not None:
        sentence = _("%(customer)s was removed: restore the customer, or choose another one.")
        words = {"customer": _name(invoice)}
        sentence %= words
        return [Problem(kind=Kind.REMOVED, sentence=sentence, fatal=True, place=Place.CUSTOMER)]
    if invoice.customer.name.strip():
        return []
    sentence = _("The customer has no name: the invoice will show none.")
    return [Problem(kind=Kind.NO_NAME, sentence=sentence, fatal=False, place=Place.CUSTOMER)]


def _name(invoice: Invoice) -> str:
    return invoice.customer.name.strip() or _("The customer")
