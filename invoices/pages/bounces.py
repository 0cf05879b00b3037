"""E-mails that came back: a list for people, and the same for a spreadsheet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parseaddr

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from deliveries import ledger
from deliveries.models import Delivery
from invoices import bouncing, mailboxes
from invoices.addresses import recipients_of
from invoices.bouncing import COUNTED, Filter, Show, What
from invoices.models import Organization
from invoices.pages.afterwards import afterwards, capitalized
from invoices.pages.formats import Formats
from invoices.pages.states import EmailState, email_state
from invoices.spreadsheets import harmless

_ROWS_AT_ONCE = 1_000
# Whose events we read; another one's may come all the same, where a secret for them is set.
_TELLS = {"resend", "sandbox"}


@dataclass(frozen=True, kw_only=True)
class BounceRow:
    invoice_id: int
    number: str
    # Empty for the invoice itself.
    kind: str
    customer_name: str
    # The one that is to blame; all recipients where nobody says whose it was.
    address: str
    # The invoice goes to others by now.
    corrected: bool
    state: EmailState
    # "Sent again, delivered on 3 Mar"; empty while it is open.
    settled: str


@dataclass(frozen=True, kw_only=True)
class Chip:
    label: str
    value: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class BouncesPage:
    total: str
    rows: list[BounceRow]
    shows: tuple[Chip, ...]
    whats: tuple[Chip, ...]
    narrowed: bool
    next: str
    # The query that the export follows.
    query: str
    # Where bounces go instead; empty if the provider tells of them.
    goes_to: str


def bounces_page(
    organization: Organization, filter_: Filter, *, before: str, formats: Formats
) -> BouncesPage:
    """Return a page of what came back; six queries."""
    page = bouncing.page_of(filter_, organization, before=before)
    return BouncesPage(
        total=_total(bouncing.counts(filter_, organization), formats),
        rows=bounce_rows(page.deliveries, formats),
        shows=_chips(Show, filter_.show),
        whats=_chips(What, filter_.what),
        narrowed=bool(filter_.query_string),
        next=page.next,
        query=filter_.query_string,
        goes_to=_where_bounces_go(),
    )


def came_back_note(organization: Organization, formats: Formats) -> str:
    """Say "3 e-mails came back" of those that are open; empty for none. One query."""
    count = bouncing.open_ones(organization)
    return _came_back(count, formats) if count else ""


def _total(counts: bouncing.Counts, formats: Formats) -> str:
    parts = [_came_back(counts.came_back, formats)]
    if counts.complained:
        parts.append(
            _("%(count)s reported as spam") % {"count": _capped(counts.complained, formats)}
        )
        parts = parts if counts.came_back else parts[1:]
    return ", ".join(parts)


def _came_back(count: int, formats: Formats) -> str:
    text = ngettext("%(count)s e-mail came back", "%(count)s e-mails came back", count)
    return text % {"count": _capped(count, formats)}


def _capped(count: int, formats: Formats) -> str:
    return f"{formats.count(COUNTED)}+" if count > COUNTED else formats.count(count)


def _chips(choices: type[Show] | type[What], chosen: Show | What) -> tuple[Chip, ...]:
    return tuple(
        Chip(label=str(each.label), value=each.value, chosen=each is chosen) for each in choices
    )


def _where_bounces_go() -> str:
    provider, keys = settings.EMAIL_PROVIDER, settings.EMAIL_PROVIDER_WEBHOOK_KEYS
    if provider in _TELLS or (keys and provider != "smtp"):
        return ""
    return parseaddr(settings.EMAIL_FROM)[1] or settings.EMAIL_FROM


def bounce_rows(deliveries: Sequence[Delivery], formats: Formats) -> list[BounceRow]:
    """Return a row for each, see `bouncing.with_all_that_is_shown`; two queries."""
    blamed = ledger.blamed([delivery.pk for delivery in deliveries])
    return [_row(delivery, _whose(delivery, blamed), formats) for delivery in deliveries]


def _row(delivery: Delivery, whose: tuple[str, ...], formats: Formats) -> BounceRow:
    invoice, settled_at = delivery.invoice, _settled_at(delivery)
    now = {mailboxes.key(0, address) for address in recipients_of(invoice).all}
    day = formats.day_moment(settled_at).text if settled_at else ""
    state = email_state(invoice, delivery, formats)
    return BounceRow(
        invoice_id=delivery.invoice_id,
        number=invoice.number,
        kind="" if delivery.kind == "invoice" else delivery.kind,
        customer_name=invoice.customer.name.strip(),
        address=", ".join(whose),
        corrected=bool(whose) and not any(mailboxes.key(0, each) in now for each in whose),
        # Nothing is left to be done about what got there since.
        state=replace(state, detail=capitalized(delivery.after_sending_reason)) if day else state,
        settled=_("Sent again, delivered on %(day)s") % {"day": day} if day else "",
    )


def bounces_as_cells(organization: Organization, filter_: Filter) -> Iterator[list[str]]:
    """Yield the heading and a row for each that came back; read from the database piece by piece.

    Every cell is harmless in a spreadsheet.
    """
    yield [
        _("Invoice"),
        _("E-mail"),
        _("Customer"),
        _("Address"),
        _("When (UTC)"),
        _("What"),
        _("Why"),
        _("Delivered later (UTC)"),
    ]
    for piece in _piece_by_piece(organization, filter_):
        blamed = ledger.blamed([delivery.pk for delivery in piece])
        for delivery in piece:
            yield [harmless(c) for c in _cells(delivery, _whose(delivery, blamed))]


def _cells(delivery: Delivery, whose: tuple[str, ...]) -> list[str]:
    return [
        delivery.invoice.number,
        delivery.kind,
        delivery.invoice.customer.name,
        ", ".join(whose),
        _in_utc(delivery.after_sending_at),
        afterwards(delivery).label,
        delivery.after_sending_reason,
        _in_utc(_settled_at(delivery)),
    ]


def _piece_by_piece(organization: Organization, filter_: Filter) -> Iterator[list[Delivery]]:
    # Not a cursor of the server's, which a pool of connections between us and it would lose.
    ids = list(filter_.deliveries(organization).values_list("pk", flat=True))
    for first in range(0, len(ids), _ROWS_AT_ONCE):
        some = Delivery.objects.came_back().filter(pk__in=ids[first : first + _ROWS_AT_ONCE])
        yield list(bouncing.with_all_that_is_shown(some))


def _whose(delivery: Delivery, blamed: dict[int, tuple[str, ...]]) -> tuple[str, ...]:
    return blamed.get(delivery.pk) or bouncing.recipients_of(delivery)


def _settled_at(delivery: Delivery) -> datetime | None:
    at: datetime | None = getattr(delivery, "settled_at", None)
    return at


def _in_utc(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if at else ""
