"""Which invoices a list shows: its tab, its search and its order, as an address says them."""

import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, Self, cast
from urllib.parse import urlencode

from django.core.exceptions import TooManyFieldsSent
from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q, TextChoices
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from deliveries.models import Delivery
from invoices.calendar import local_day
from invoices.models import Invoice, InvoiceQuerySet, Organization
from invoices.paging import NEWEST, ORDERS, Order, Place, Query
from invoices.searching import matching
from invoices.sending import KIND

# Counting stops here: the exact number of more than that is worth nobody's waiting.
COUNTED = 10_000
COUNTED_OF_A_SEARCH = 250

_LONGEST_SEARCH = 320
_LONGEST_QUERY = 5_000
_Status = Invoice.Status


class Tab(TextChoices):
    ALL = "all", _("All")
    DRAFT = "draft", _("Draft")
    SENDING = "sending", _("Sending")
    RETRYING = "retrying", _("Retrying")
    FAILED = "failed", _("Not sent")
    SENT = "sent", _("Open")
    OVERDUE = "overdue", _("Overdue")
    PAID = "paid", _("Paid")
    VOID = "void", _("Void")


@dataclass(frozen=True, kw_only=True)
class Filter:
    """What a list is narrowed to. Every instance is valid."""

    tab: Tab = Tab.ALL
    search: str = ""
    sort: str = NEWEST
    # The moment of an import, to see just what it made; empty for all invoices.
    imported: str = ""

    @classmethod
    def read(cls, query: Query) -> Self:
        """Read `tab`, `q`, `sort`, `imported` of an address or form; nonsense is not there."""
        tab, sort = str(query.get("tab", "")), str(query.get("sort", ""))
        return cls(
            tab=Tab(tab) if tab in Tab.values else Tab.ALL,
            search=_printable(str(query.get("q", ""))),
            sort=sort if sort in ORDERS else NEWEST,
            imported=_moment(str(query.get("imported", ""))),
        )

    @property
    def order(self) -> Order:
        return ORDERS[self.sort]

    @property
    def parameters(self) -> dict[str, str]:
        """Return what `read` reads, without what goes without saying."""
        said = {"tab": str(self.tab), "q": self.search, "sort": self.sort}
        said["imported"] = self.imported
        unsaid = {"tab": Tab.ALL, "q": "", "sort": NEWEST, "imported": ""}
        return {name: value for name, value in said.items() if value != unsaid[name]}

    def query_string(self, **changes: str) -> str:
        """Return what stands behind "?"; changes are fields of the filter, or a page's place."""
        fields = ("tab", "search", "sort", "imported")
        own = {name: changes.pop(name) for name in fields if name in changes}
        return urlencode(replace(self, **cast(Any, own)).parameters | changes)

    def invoices(self, organization: Organization) -> InvoiceQuerySet:
        """Return the organization's invoices of this filter, in no order.

        A search takes a query now, to find out whose invoices it means.
        """
        return self.of_tab(self.searched(organization), organization)

    def searched(self, organization: Organization) -> InvoiceQuerySet:
        invoices = Invoice.objects.of(organization)
        if self.imported:
            invoices = invoices.filter(imported_at=datetime.fromisoformat(self.imported))
        return matching(invoices, self.search, organization)

    def of_tab(self, invoices: InvoiceQuerySet, organization: Organization) -> InvoiceQuerySet:
        return invoices.filter(condition(self.tab, today=today_of(organization)))


def query_back(query: str) -> str:
    """Return what a form says of the list's page it stood on, as far as it makes sense."""
    try:
        read = QueryDict(query[:_LONGEST_QUERY])
    except TooManyFieldsSent:
        return ""
    filter_ = Filter.read(read)
    return filter_.query_string(**Place.read(read, filter_.order).parameters)


def today_of(organization: Organization) -> date:
    return local_day(timezone.now(), organization.time_zone)


def condition(tab: Tab, *, today: date) -> Q:
    """Return what invoices of a tab have in common; `today` is the organization's."""
    match tab:
        case Tab.ALL:
            return Q()
        case Tab.SENDING:
            # All that is promised and does not wait for another attempt.
            return Q(status=_Status.SENDING) & ~Q(_retrying())
        case Tab.RETRYING:
            return Q(status=_Status.SENDING) & Q(_retrying())
        case Tab.OVERDUE:
            return Q(status=_Status.SENT, due_on__lt=today)
        case _:
            return Q(status=tab)


def _retrying() -> Exists:
    return Exists(
        Delivery.objects.filter(invoice=OuterRef("pk"), kind=KIND, status=Delivery.Status.RETRYING)
    )


def counts(
    filter_: Filter, searched: InvoiceQuerySet, organization: Organization
) -> dict[Tab, int]:
    """Return how many invoices each tab has; one query.

    A number beyond the limit (`limit_of`) says that there are more. Of a search that finds more
    than its limit, only "All" is counted.
    """
    today = today_of(organization)
    if filter_.search:
        return _of_a_search(searched, {tab: condition(tab, today=today) for tab in Tab})
    if filter_.imported:
        sql, values = _counting(searched, today, COUNTED)
    else:
        sql, values = _counting_all(COUNTED)
        meant = {_ANY_ORGANIZATION: organization.pk, _ANY_DAY: today}
        values = tuple(meant.get(value, value) for value in values)
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return dict(zip(Tab, cursor.fetchone(), strict=True))


def limit_of(filter_: Filter) -> int:
    return COUNTED_OF_A_SEARCH if filter_.search else COUNTED


def _of_a_search(searched: InvoiceQuerySet, conditions: dict[Tab, Q]) -> dict[Tab, int]:
    # In the list's order, which is read until enough are found: without one, all customers were
    # looked through first.
    first = ORDERS[NEWEST].of(searched).values("pk")[: COUNTED_OF_A_SEARCH + 1]
    found = Invoice.objects.filter(pk__in=first)
    numbers = found.aggregate(
        **{tab.value: Count("pk", filter=each or None) for tab, each in conditions.items()}
    )
    if numbers[Tab.ALL] > COUNTED_OF_A_SEARCH:
        return {Tab.ALL: numbers[Tab.ALL]}
    return {tab: numbers[tab.value] for tab in conditions}


def _counting(invoices: InvoiceQuerySet, today: date, most: int) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that counts each tab's invoices, up to one more than `most`."""
    tabs = [invoices.filter(condition(tab, today=today)).values("pk")[: most + 1] for tab in Tab]
    compiled = [tab.query.sql_with_params() for tab in tabs]
    counts = ", ".join(f"(SELECT count(*) FROM ({sql}) counted)" for sql, _ in compiled)
    return f"SELECT {counts}", tuple(value for _, values in compiled for value in values)


# What nobody has: they stand for what is asked for, in a statement that is kept.
_ANY_ORGANIZATION = -1
_ANY_DAY = date.min


@cache
def _counting_all(most: int) -> tuple[str, tuple[Any, ...]]:
    """Return it for any organization and day: putting it together takes as long as running it."""
    return _counting(Invoice.objects.filter(organization_id=_ANY_ORGANIZATION), _ANY_DAY, most)


def _moment(text: str) -> str:
    """Return a moment as addresses name it; empty for what is none."""
    try:
        moment = datetime.fromisoformat(text[:40])
    except ValueError:
        return ""
    # Others are no import's, and near the ends of the calendar time zones overflow.
    sane = moment.tzinfo is not None and 2000 <= moment.year < 2200
    return moment.astimezone(UTC).isoformat() if sane else ""


def _printable(text: str) -> str:
    """Make one line of what was typed or pasted, without what no eye sees."""
    spaced = "".join(" " if c.isspace() else c for c in text[: 2 * _LONGEST_SEARCH])
    seen = "".join(c for c in spaced if unicodedata.category(c) not in {"Cc", "Cs", "Cn"})
    return " ".join(seen.split())[:_LONGEST_SEARCH].strip()
