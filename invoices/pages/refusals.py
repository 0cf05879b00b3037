"""What the pages say of addresses from which e-mails came back, wherever one more can be sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from deliveries.models import Delivery, Mailbox
from invoices import mailboxes
from invoices.mailboxes import Refusal
from invoices.models import Customer, Invoice
from invoices.pages.formats import Formats

_Outcome = Delivery.AfterSending


@dataclass(frozen=True, kw_only=True)
class Warned:
    """A sentence about one recipient; `own` if it is the customer's own address."""

    sentence: str
    own: bool


def warnings(invoices: Sequence[Invoice], formats: Formats) -> dict[int, tuple[Warned, ...]]:
    """Return, by invoice, what is to be said of its recipients before a send; one query.

    Of every place where a send can be started. Customers must be loaded.
    """
    found = mailboxes.refusing(invoices)
    return {pk: of_refusals(refusals, formats) for pk, refusals in found.items()}


def warnings_of(invoice: Invoice, formats: Formats) -> tuple[Warned, ...]:
    return warnings([invoice], formats).get(invoice.pk, ())


def sentences(warned: Sequence[Warned]) -> str:
    return " ".join(each.sentence for each in warned)


def of_refusals(refusals: Sequence[Refusal], formats: Formats) -> tuple[Warned, ...]:
    return tuple(
        Warned(sentence=_sentence(each.address, each.mailbox, formats), own=each.own)
        for each in refusals
    )


def of_customers(customers: Sequence[Customer], formats: Formats) -> dict[int, str]:
    """Return, by customer, what is to be said of the address; one query."""
    known = mailboxes.of_customers(customers)
    return {
        each.pk: _sentence(each.email.strip(), known[each.pk], formats)
        for each in customers
        if each.pk in known
    }


def _sentence(address: str, mailbox: Mailbox, formats: Formats) -> str:
    """Say when and why e-mails came back from a mailbox that refuses them, and what to do."""
    at = mailbox.came_back_at
    words = {
        "address": address,
        "day": formats.day_moment(at).text if at else "",
        "reason": mailbox.came_back_reason.rstrip(". ") or _("nobody says why"),
    }
    match mailbox.came_back_as:
        case _Outcome.COMPLAINED:
            text = _("An e-mail to %(address)s was reported as spam on %(day)s: ask first.")
        case _Outcome.SUPPRESSED:
            # Its reason is that e-mails came back: no news to whom it is told that one did.
            text = _(
                "The provider sent nothing to %(address)s on %(day)s, since e-mails had come back "
                "before. Correct it first."
            )
        case _:
            text = _("E-mails to %(address)s came back on %(day)s: %(reason)s. Correct it first.")
    return text % words
