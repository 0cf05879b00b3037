"""Making invoices and changing them, while nobody has them yet.

The amount is decided here, by the lines and the discount, and nowhere else: pages, PDF, e-mail and
API show what is stored.
"""

import logging

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from deliveries.models import Delivery
from invoices import corrections, customers, history, money, numbering, sending
from invoices.draft import (
    COLUMNS,
    LINE_COLUMNS,
    Draft,
    NewCustomer,
    holds,
    is_same,
    values_of,
    version_of,
)
from invoices.models import Customer, Invoice, InvoiceLine, Organization

logger = logging.getLogger(__name__)

MOST_LINES = 200
# Far beyond any invoice, and far within a bigint even after taxes.
MOST_MINOR = 10**17


class CannotBeChanged(Exception):
    """The draft was not stored, and nothing was written; the text says why, to a person."""


class NumberTaken(CannotBeChanged):
    """Another invoice of the organization has this number."""


class ChangedMeanwhile(CannotBeChanged):
    """Somebody else saved the invoice after this form was made."""


class SameAddress(CannotBeChanged):
    """The new customer's address is that of a customer of another name: a person must say."""

    def __init__(self, customer: Customer) -> None:
        sentence = _(
            "There is %(customer)s with this address: choose it above, or save once more to have "
            "two customers with one address."
        )
        super().__init__(sentence % {"customer": customer})
        self.customer = customer


class AmountImpossible(CannotBeChanged):
    """What the lines come to is no amount that anybody can owe."""


def create(organization: Organization, draft: Draft, *, user_id: int) -> Invoice:
    """Make the draft an invoice; one transaction. Raise `CannotBeChanged`.

    The same draft once more (a double click on Save) returns the first one's invoice.
    """
    amount_minor = _amount(draft)
    try:
        with transaction.atomic():
            invoice = Invoice.objects.create(
                organization=organization,
                customer=_customer(organization, draft.customer),
                amount_minor=amount_minor,
                **values_of(draft),
            )
            _write_lines(invoice, draft)
            history.tell(invoice, f"{invoice.number} was written.", user_id=user_id)
    except IntegrityError as error:
        _insist_on_the_number(error)
        return _made_already(organization, draft)
    logger.info("invoice created", extra={"invoice": invoice.pk, "user": user_id})
    return invoice


def change(
    invoice_id: int,
    draft: Draft,
    *,
    organization: Organization,
    version: str,
    user_id: int,
    composed_anew: bool = False,
) -> Invoice:
    """Store the draft over the invoice, under its lock; joins the caller's transaction, if any.

    `version` names what the person saw (see `version_of`); `composed_anew` says that the caller
    puts the dead e-mail back, to be made of what is stored now. Raise `Invoice.DoesNotExist`, also
    for another organization's; `CannotBeChanged`.
    """
    try:
        with transaction.atomic():
            last = sending.lock_last_delivery(invoice_id, organization)
            invoice = lock(invoice_id, organization)
            _insist_on_correctable(invoice, None if composed_anew else last)
            if not holds(invoice, draft):
                _insist_on_version(invoice, version)
                _store(invoice, draft)
                corrections.invoice_corrected(invoice, user_id=user_id)
    except IntegrityError as error:
        _insist_on_the_number(error)
        raise NumberTaken(_taken(draft.number)) from error
    logger.info("invoice changed", extra={"invoice": invoice.pk, "user": user_id})
    return invoice


def lock(invoice_id: int, organization: Organization) -> Invoice:
    """Return the invoice, locked to the end of the transaction. Raise `Invoice.DoesNotExist`."""
    return Invoice.objects.select_for_update(no_key=True).get(
        pk=invoice_id, organization=organization
    )


def cannot_be_changed(invoice: Invoice, last: Delivery | None) -> str:
    """Say why an invoice does not change any more; empty while it may.

    `last` is the last delivery of its own e-mail.
    """
    if invoice.is_correctable and sending.holds_fast(last):
        return _(
            "The customer may have %(number)s as it is: it does not change, unless it is known "
            "that they have not."
        ) % {"number": invoice.number}
    if invoice.is_correctable:
        return ""
    sentences = {
        Invoice.Status.SENDING: _("%(number)s is being sent: nothing was changed."),
        Invoice.Status.SENT: _("%(number)s was sent: the customer has it as it is."),
        Invoice.Status.PAID: _("%(number)s is paid: it does not change any more."),
        Invoice.Status.VOID: _("%(number)s is void: it does not change any more."),
    }
    return sentences[Invoice.Status(invoice.status)] % {"number": invoice.number}


def _insist_on_correctable(invoice: Invoice, last: Delivery | None) -> None:
    if why := cannot_be_changed(invoice, last):
        raise CannotBeChanged(why)


def _insist_on_version(invoice: Invoice, version: str) -> None:
    if version_of(invoice) != version:
        sentence = _("Somebody else changed %(number)s while you were at it.")
        raise ChangedMeanwhile(sentence % {"number": invoice.number})


def _store(invoice: Invoice, draft: Draft) -> None:
    had_lines = invoice.lines.exists()
    for name, value in values_of(draft).items():
        setattr(invoice, name, value)
    invoice.customer = _customer(invoice.organization, draft.customer)
    # An imported invoice may have an amount and no lines: it keeps it until it gets some.
    if had_lines or draft.lines:
        invoice.amount_minor = _amount(draft)
    invoice.save(update_fields=[*COLUMNS, "customer", "amount_minor"])
    invoice.lines.all().delete()
    _write_lines(invoice, draft)


def _write_lines(invoice: Invoice, draft: Draft) -> None:
    InvoiceLine.objects.bulk_create(
        InvoiceLine(
            invoice=invoice,
            position=position,
            **{name: getattr(line, name) for name in LINE_COLUMNS},
        )
        for position, line in enumerate(draft.lines, start=1)
    )


def _customer(organization: Organization, customer: Customer | NewCustomer) -> Customer:
    if isinstance(customer, Customer):
        return customer
    known = list(customers.with_address(organization, customer.email))
    if same := next((each for each in known if is_same(each, customer)), None):
        return same
    if known and not customers.is_same_address(customer.email, customer.shared):
        raise SameAddress(known[0])
    return Customer.objects.create(
        organization=organization,
        name=customer.name,
        email=customer.email,
        address=customer.address,
    )


def _amount(draft: Draft) -> int | None:
    """Return what is owed; None while that is nothing. Raise `AmountImpossible`."""
    gross = money.totals(draft.lines, discount_rate=draft.discount_rate).gross_minor
    if why := amount_impossible(gross):
        raise AmountImpossible(why)
    return gross or None


def amount_impossible(gross_minor: int) -> str:
    """Say why nobody can owe that amount; empty if somebody can."""
    if gross_minor < 0:
        return _("The lines come to less than nothing: an invoice asks for money.")
    if gross_minor > MOST_MINOR:
        return _("The lines come to more than any invoice: check quantities and prices.")
    return ""


def _made_already(organization: Organization, draft: Draft) -> Invoice:
    invoice = Invoice.objects.of(organization).get(number=draft.number)
    if invoice.status == Invoice.Status.DRAFT and holds(invoice, draft):
        return invoice
    raise NumberTaken(_taken(draft.number, numbering.next_number(organization)))


def _insist_on_the_number(error: IntegrityError) -> None:
    """Let pass what is not about the number's being taken."""
    if "invoice_number_once_per_organization" not in str(error):
        raise error


def _taken(number: str, free: str = "") -> str:
    taken = _("There is an invoice %(number)s already.") % {"number": number}
    return f"{taken} {_('%(number)s is free.') % {'number': free}}" if free else taken
