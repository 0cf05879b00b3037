"""E-mails that came back: a list for people, and the same for a spreadsheet."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from deliveries.models import Delivery, Message
from invoices.models import Organization
from invoices.pages.afterwards import afterwards
from invoices.pages.formats import Formats
from invoices.pages.states import EmailState, email_state

# What a spreadsheet takes for a formula, at the beginning of a cell.
# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, kw_only=True)
class BounceRow:
    invoice_id: int
    number: str
    # Empty for the invoice itself.
    kind: str
    customer_name: str
    address: str
    # The customer's address is another one by now.
    corrected: bool
    state: EmailState


def bounces_of(organization: Organization) -> QuerySet[Delivery]:
    """Return what came back, newest first, with the invoice, its customer and the address."""
    letters = Message.objects.filter(idempotency_key=OuterRef("idempotency_key"))
    return (
        Delivery.objects.came_back()
        .filter(organization=organization)
        .select_related("invoice__customer")
        .annotate(address=Subquery(letters.values("to__0")[:1]))
    )


def bounce_rows(deliveries: Sequence[Delivery], formats: Formats) -> list[BounceRow]:
    return [_row(delivery, formats) for delivery in deliveries]


def _row(delivery: Delivery, formats: Formats) -> BounceRow:
    customer = delivery.invoice.customer
    address = _address(delivery)
    return BounceRow(
        invoice_id=delivery.invoice_id,
        number=delivery.invoice.number,
        kind="" if delivery.kind == "invoice" else delivery.kind,
        customer_name=customer.name.strip(),
        address=address,
        corrected=customer.email.strip().lower() != address.lower(),
        state=email_state(delivery.invoice, delivery, formats),
    )


def bounces_as_cells(organization: Organization) -> Iterator[list[str]]:
    """Yield the heading and a row for each that came back; read from the database piece by piece.

    Every cell is safe in a spreadsheet: none begins a formula.
    """
    yield [
        _("Invoice"),
        _("E-mail"),
        _("Customer"),
        _("Address"),
        _("When (UTC)"),
        _("What"),
        _("Why"),
    ]
    for delivery in _piece_by_piece(bounces_of(organization)):
        at = delivery.after_sending_at
        yield safe_cells(
            [
                delivery.invoice.number,
                delivery.kind,
                delivery.invoice.customer.name,
                _address(delivery),
                at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if at else "",
                afterwards(delivery).label,
                delivery.after_sending_reason,
            ]
        )


def _piece_by_piece(deliveries: QuerySet[Delivery]) -> Iterator[Delivery]:
    # Not a cursor of the server's, which a pool of connections between us and it would lose.
    ids = list(deliveries.values_list("pk", flat=True))
    for first in range(0, len(ids), _ROWS_AT_ONCE):
        yield from deliveries.filter(pk__in=ids[first : first + _ROWS_AT_ONCE])


def safe_cells(cells: Iterable[str]) -> list[str]:
    """Return the cells with an apostrophe before what a spreadsheet would reckon out."""
    return [f"'{cell}" if cell.lstrip(" \u00a0").startswith(_FORMULA) else cell for cell in cells]


def _address(delivery: Delivery) -> str:
    address: str | None = getattr(delivery, "address", None)
    return address or ""
