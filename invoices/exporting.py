"""Invoices as CSV, for spreadsheets, and harmless in them."""

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from io import StringIO

from django.utils.translation import gettext as _

from deliveries.models import Delivery
from invoices import money
from invoices.listing import Filter
from invoices.models import Invoice, Organization
from invoices.pages import Formats, email_state, payment_state
from invoices.pages.states import overdue_days
from invoices.paging import Place, turn_to
from invoices.sending import KIND
from invoices.spreadsheets import harmless

BATCH = 2_000

Cell = str | Decimal | date | datetime | None


def csv_of(organization: Organization, filter_: Filter) -> Iterator[str]:
    """Yield the filter's invoices as CSV in the filter's order, a few thousand rows at a time.

    Each batch is a query of its own: a single one over a million rows would hold an old snapshot,
    which makes every claim of the ledger slower. So an invoice that is changed meanwhile stands
    there as it was before or after the change, and one that moves within the order may be missed.
    """
    yield "\N{BYTE ORDER MARK}" + _lines([_heading()])
    formats = Formats.of(organization)
    labels = _Labels(formats)
    invoices = filter_.invoices(organization).select_related("customer")
    place: Place | None = Place()
    while place is not None:
        page = turn_to(place, invoices, filter_.order, size=BATCH)
        yield _lines(_rows(page.invoices, labels))
        place = page.next


def _heading() -> list[Cell]:
    return [
        _("Number"),
        _("Customer"),
        _("Address"),
        _("Currency"),
        _("Amount"),
        _("Issued"),
        _("Due"),
        _("Payment"),
        _("E-mail"),
        _("Sent at (UTC)"),
        _("Last error"),
    ]


class _Labels:
    """The words of the pages for states, each made once: a million rows have a few dozen."""

    def __init__(self, formats: Formats) -> None:
        self._formats = formats
        self._known: dict[tuple[object, ...], str] = {}

    def payment(self, invoice: Invoice) -> str:
        key = ("payment", invoice.status, overdue_days(invoice, self._formats) > 0)
        if key not in self._known:
            self._known[key] = payment_state(invoice, self._formats).label
        return self._known[key]

    def email(self, invoice: Invoice, delivery: Delivery | None) -> str:
        key: tuple[object, ...] = ("email", invoice.status)
        if delivery is not None:
            handed_over = delivery.handed_over_at is not None
            key = ("email", delivery.status, delivery.dead_reason, handed_over)
        if key not in self._known:
            self._known[key] = email_state(invoice, delivery, self._formats).label
        return self._known[key]


def _rows(invoices: list[Invoice], labels: _Labels) -> Iterator[list[Cell]]:
    latest = {
        delivery.invoice_id: delivery
        for delivery in Delivery.objects.latest_of_each(invoices, kind=KIND)
    }
    for invoice in invoices:
        delivery = latest.get(invoice.pk)
        yield [
            invoice.number,
            invoice.customer.name.strip(),
            invoice.customer.email.strip(),
            invoice.currency,
            _amount(invoice),
            invoice.issued_on,
            invoice.due_on,
            labels.payment(invoice),
            labels.email(invoice, delivery),
            delivery.sent_at if delivery else None,
            _last_error(delivery),
        ]


def _amount(invoice: Invoice) -> Cell:
    if invoice.amount_minor is None:
        return None
    try:
        places = money.minor_unit_exponent(invoice.currency)
    except money.UnknownCurrency:
        return f"{invoice.amount_minor} minor units"
    return Decimal(invoice.amount_minor).scaleb(-places)


def _last_error(delivery: Delivery | None) -> str:
    """Return why the e-mail has not gone out; an error that another attempt overcame is past."""
    if delivery is None or delivery.status == Delivery.Status.SENT:
        return ""
    return delivery.last_error


def _lines(rows: Iterable[list[Cell]]) -> str:
    text = StringIO(newline="")
    csv.writer(text).writerows([_written(cell) for cell in row] for row in rows)
    return text.getvalue()


def _written(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case Decimal():
            return f"{cell:f}"
        case datetime():
            return cell.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        case date():
            return cell.isoformat()
        case _:
            return harmless(cell)
