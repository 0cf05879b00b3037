"""What stands around the rows of the invoice list: tabs, search, orders, paging, and nothing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from invoices import listing, paging
from invoices.listing import Filter, Tab
from invoices.models import Invoice, Organization
from invoices.pages.formats import Formats
from invoices.paging import Page, Place
from invoices.short_reads import by_index_alone


@dataclass(frozen=True, kw_only=True)
class ListTab:
    name: str
    label: str
    # Empty where it was not counted; "10,000+" where counting stopped.
    count: str
    href: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class ListOrder:
    """A column's header that orders the list."""

    label: str
    href: str
    # As aria-sort says it; empty where the list is ordered otherwise.
    direction: str


@dataclass(frozen=True, kw_only=True)
class Emptiness:
    """What a list without rows says. `way_out` leads to where there may be some."""

    heading: str
    sentence: str
    way_out: str = ""
    way_out_label: str = ""


@dataclass(frozen=True, kw_only=True)
class InvoiceListing:
    """One page of an organization's invoices under a filter, and the ways on from there."""

    filter: Filter
    invoices: list[Invoice]
    # The organization has none at all: nothing to search or to sort.
    has_none: bool
    caption: str
    total: str
    # Whether the list has drafts to send all at once, and how many, where that was counted.
    has_drafts: bool
    drafts: str
    tabs: tuple[ListTab, ...]
    # Of the columns that order, by the column's name.
    headers: dict[str, ListOrder]
    orders: tuple[tuple[str, str], ...]
    # The query that leads back to just this page.
    here: str
    previous: str
    next: str
    clear_search: str
    # When these were imported, and the way to all others; empty for a list of no import.
    imported: str
    clear_imported: str
    export: str
    emptiness: Emptiness

    @classmethod
    def of(
        cls, organization: Organization, filter_: Filter, place: Place, formats: Formats
    ) -> Self:
        """Read the page and count its tabs; two queries, and one more for a search."""
        page, numbers = _read(organization, filter_, place)
        counts = _counts(numbers, filter_, formats)
        return cls(
            filter=filter_,
            invoices=page.invoices,
            has_none=counts.get(Tab.ALL) == "0" and not (filter_.search or filter_.imported),
            caption=_caption(filter_),
            total=_total(counts.get(filter_.tab, "")),
            has_drafts=filter_.tab in {Tab.ALL, Tab.DRAFT} and counts.get(Tab.DRAFT) != "0",
            drafts=counts.get(Tab.DRAFT, ""),
            tabs=_tabs(filter_, counts),
            headers={name: _header(name, filter_) for name in ("number", "amount", "due")},
            orders=tuple(_order_labels().items()),
            here=filter_.query_string(**place.parameters),
            previous=_turned(page.previous, filter_),
            next=_turned(page.next, filter_),
            clear_search=_address(filter_, search=""),
            imported=_imported(filter_, formats),
            clear_imported=_address(filter_, imported=""),
            export=_with(reverse("export_invoices"), filter_.query_string()),
            emptiness=_emptiness(filter_, page, organization),
        )


@by_index_alone()
def _read(organization: Organization, filter_: Filter, place: Place) -> tuple[Page, dict[Tab, int]]:
    searched = filter_.searched(organization)
    invoices = filter_.of_tab(searched, organization).select_related("customer")
    page = paging.turn_to(place, invoices, filter_.order)
    for invoice in page.invoices:
        invoice.organization = organization
    return page, listing.counts(filter_, searched, organization)


def _counts(numbers: dict[Tab, int], filter_: Filter, formats: Formats) -> dict[Tab, str]:
    limit = listing.limit_of(filter_)
    return {tab: _count(number, limit, formats) for tab, number in numbers.items()}


def _count(number: int, limit: int, formats: Formats) -> str:
    text = formats.count(min(number, limit))
    return f"{text}+" if number > limit else text


def _total(count: str) -> str:
    """Say "12 invoices" of a count that may be "10,000+", or not known."""
    if not count:
        return ""
    text = ngettext("%(count)s invoice", "%(count)s invoices", 1 if count == "1" else 2)
    return text % {"count": count}


def _tabs(filter_: Filter, counts: dict[Tab, str]) -> tuple[ListTab, ...]:
    return tuple(
        ListTab(
            name=tab.value,
            label=str(tab.label),
            count=counts.get(tab, ""),
            href=_address(filter_, tab=tab),
            chosen=tab == filter_.tab,
        )
        for tab in Tab
    )


def _header(name: str, filter_: Filter) -> ListOrder:
    """The first click orders as is wanted most, largest amounts first; the next turns it round."""
    directions = {name: "ascending", f"-{name}": "descending"}
    first, other = (f"-{name}", name) if name == "amount" else (name, f"-{name}")
    return ListOrder(
        label={"number": _("Invoice"), "amount": _("Amount"), "due": _("Due")}[name],
        href=_address(filter_, sort=other if filter_.sort == first else first),
        direction=directions.get(filter_.sort, ""),
    )


def _order_labels() -> dict[str, str]:
    return {
        "newest": _("Newest first"),
        "-newest": _("Oldest first"),
        "due": _("Due first"),
        "-due": _("Due last"),
        "-amount": _("Largest amount"),
        "amount": _("Smallest amount"),
        "number": _("Number, upwards"),
        "-number": _("Number, downwards"),
    }


def _caption(filter_: Filter) -> str:
    tab, order = filter_.tab.label, _order_labels()[filter_.sort]
    if not filter_.search:
        return f"{_('Invoices')}: {tab}. {order}"
    return f"{_('Invoices')}: {tab}, “{filter_.search}”. {order}"


def _imported(filter_: Filter, formats: Formats) -> str:
    if not filter_.imported:
        return ""
    moment = formats.moment(datetime.fromisoformat(filter_.imported)).text
    return _("Only what was imported %(moment)s.") % {"moment": moment}


def _turned(place: Place | None, filter_: Filter) -> str:
    return "" if place is None else _address(filter_, **place.parameters)


def _address(filter_: Filter, **changes: str) -> str:
    return _with(reverse("invoice_list"), filter_.query_string(**changes))


def _with(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def _emptiness(filter_: Filter, page: Page, organization: Organization) -> Emptiness:
    if page.previous is not None:
        return Emptiness(
            heading=_("Nothing more here"),
            sentence=_("What stood on this page has moved on meanwhile."),
            way_out=_address(filter_),
            way_out_label=_("To the first page"),
        )
    if filter_.search:
        return Emptiness(
            heading=_("Nothing found for “%s”") % filter_.search,
            sentence=_where_looked(filter_),
            way_out=_address(filter_, search=""),
            way_out_label=_("Clear the search"),
        )
    if filter_.imported:
        return Emptiness(
            heading=_("None of what was imported then"),
            sentence=_("Other invoices are not in this list."),
            way_out=_address(filter_, imported=""),
            way_out_label=_("Show all invoices"),
        )
    if filter_.tab == Tab.ALL:
        return Emptiness(
            heading=_("No invoices yet"),
            sentence=_(
                "As soon as %s has invoices, they are listed here, each with what became of its "
                "e-mail."
            )
            % organization.name,
        )
    heading, sentence = _empty_tabs()[filter_.tab]
    return Emptiness(
        heading=heading,
        sentence=sentence,
        way_out=_address(filter_, tab=Tab.ALL),
        way_out_label=_("All invoices"),
    )


def _where_looked(filter_: Filter) -> str:
    looked = _(
        "Looked for: an invoice number or an e-mail address that begins like this, or a customer "
        "whose name has these words."
    )
    if filter_.tab == Tab.ALL:
        return looked
    return f"{looked} {_('Only in the tab “%s”.') % filter_.tab.label}"


def _empty_tabs() -> dict[Tab, tuple[str, str]]:
    return {
        Tab.DRAFT: (_("No drafts"), _("Every invoice has been sent, or is on its way.")),
        Tab.SENDING: (_("Nothing is being sent"), _("No e-mail is on its way just now.")),
        Tab.RETRYING: (_("Nothing is being retried"), _("No e-mail waits for another attempt.")),
        Tab.FAILED: (_("Nothing failed"), _("No invoice’s e-mail was given up.")),
        Tab.SENT: (_("Nothing is open"), _("No invoice has been sent and is still unpaid.")),
        Tab.OVERDUE: (_("Nothing is overdue"), _("No customer is late.")),
        Tab.PAID: (_("Nothing is paid yet"), _("Invoices stand here once they are paid.")),
        Tab.VOID: (_("Nothing is void"), _("Invoices that were made void stand here.")),
    }
