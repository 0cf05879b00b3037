"""The customers' list, and a customer's page."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from invoices import addresses
from invoices.customers import Account, accounts
from invoices.models import Customer, Invoice
from invoices.pages import refusals
from invoices.pages.formats import Formats
from invoices.pages.states import Pill, overdue_note, payment_state

INVOICES_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class CustomerRow:
    id: int
    name: str
    email: str
    problem: str
    invoices: str
    open: tuple[str, ...]
    paused: bool


@dataclass(frozen=True, kw_only=True)
class InvoiceOfCustomer:
    id: int
    number: str
    amount: str
    due: str
    overdue: str
    payment: Pill


@dataclass(frozen=True, kw_only=True)
class CustomerPage:
    id: int
    title: str
    email: str
    problem: str
    address: str
    tax_id: str
    removed: str
    paused: bool
    invoices: tuple[InvoiceOfCustomer, ...]
    # How many there are in all; the page shows the newest.
    count: str
    more: bool
    open: tuple[str, ...]


def customer_rows(customers: Sequence[Customer], *, formats: Formats) -> list[CustomerRow]:
    """Return a row for each customer; two queries, for what all of them owe and their mailboxes."""
    known, warned = accounts(customers), refusals.of_customers(customers, formats)
    return [
        _row(customer, known[customer.pk], warned.get(customer.pk, ""), formats)
        for customer in customers
    ]


def customer_page(customer: Customer, *, formats: Formats) -> CustomerPage:
    """Return the page of a customer; three queries."""
    of_customer = accounts([customer])[customer.pk]
    newest = customer.invoices.order_by("-pk")[:INVOICES_SHOWN]
    count = sum(account.invoices for account in of_customer)
    return CustomerPage(
        id=customer.pk,
        title=_title(customer),
        email=customer.email.strip(),
        problem=_problem(customer)
        or refusals.of_customers([customer], formats).get(customer.pk, ""),
        address=customer.address,
        tax_id=customer.tax_id,
        removed=formats.moment(customer.removed_at).text if customer.removed_at else "",
        paused=customer.reminders_paused,
        invoices=tuple(_invoice(invoice, formats) for invoice in newest),
        count=_counted(of_customer),
        more=count > INVOICES_SHOWN,
        open=_open(of_customer, formats),
    )


def _row(
    customer: Customer, of_customer: list[Account], warning: str, formats: Formats
) -> CustomerRow:
    return CustomerRow(
        id=customer.pk,
        name=_title(customer),
        email=customer.email.strip(),
        problem=_problem(customer) or warning,
        invoices=_counted(of_customer),
        open=_open(of_customer, formats),
        paused=customer.reminders_paused,
    )


def _title(customer: Customer) -> str:
    return customer.name.strip() or customer.email.strip() or _("Customer without a name")


def _problem(customer: Customer) -> str:
    """What an import may have brought: it is shown, not hidden."""
    address = customer.email.strip()
    return addresses.problem_with(address) if address else _("No e-mail address.")


def _counted(of_customer: list[Account]) -> str:
    count = sum(account.invoices for account in of_customer)
    if not count:
        return _("No invoices")
    return ngettext("%(count)d invoice", "%(count)d invoices", count) % {"count": count}


def _open(of_customer: list[Account], formats: Formats) -> tuple[str, ...]:
    return tuple(
        formats.amount(account.open_minor, account.currency)
        for account in of_customer
        if account.open_invoices
    )


def _invoice(invoice: Invoice, formats: Formats) -> InvoiceOfCustomer:
    amount = invoice.amount_minor
    return InvoiceOfCustomer(
        id=invoice.pk,
        number=invoice.number,
        amount="" if amount is None else formats.amount(amount, invoice.currency),
        due=formats.short_day(invoice.due_on),
        overdue=overdue_note(invoice, formats),
        payment=payment_state(invoice, formats),
    )
