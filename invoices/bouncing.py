"""Which e-mails came back: of what sort, still open or settled, as an address says them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from urllib.parse import urlencode

from django.db.models import OuterRef, Q, QuerySet, Subquery, TextChoices
from django.utils.translation import gettext_lazy as _

from deliveries.models import Delivery, DeliveryQuerySet, Message
from invoices.models import Organization
from invoices.paging import Query

# Counting stops here: that there are more is all that anybody needs to know.
COUNTED = 1_000
_PER_PAGE = 50

_Outcome = Delivery.AfterSending


class Show(TextChoices):
    ALL = "", _("All")
    OPEN = "open", _("Open")
    SETTLED = "settled", _("Settled")


class What(TextChoices):
    ALL = "", _("Whatever it was")
    FOR_GOOD = "bounced", _("Bounced for good")
    FOR_NOW = "bounced_for_now", _("Bounced for now")
    SUPPRESSED = "suppressed", _("Suppressed")
    FAILED = "failed", _("Not delivered")
    COMPLAINED = "complained", _("Complained")


@dataclass(frozen=True, kw_only=True)
class Filter:
    """What the list is narrowed to. Every instance is valid."""

    show: Show = Show.ALL
    what: What = What.ALL

    @classmethod
    def read(cls, query: Query) -> Self:
        """Read `show` and `what` of an address; nonsense is not there."""
        show, what = str(query.get("show", "")), str(query.get("what", ""))
        return cls(
            show=Show(show) if show in Show.values else Show.ALL,
            what=What(what) if what in What.values else What.ALL,
        )

    @property
    def query_string(self) -> str:
        said = {"show": self.show.value, "what": self.what.value}
        return urlencode({name: value for name, value in said.items() if value})

    def deliveries(self, organization: Organization) -> DeliveryQuerySet:
        """Return what came back or was complained of, newest first."""
        found = Delivery.objects.came_back().filter(organization=organization)
        if self.what:
            found = found.filter(after_sending=self.what)
        if self.show:
            # Not EXISTS, of which a join with all of the ledger would be made.
            found = found.alias(later=_settled_at()).filter(later__isnull=self.show is Show.OPEN)
        return found


@dataclass(frozen=True, kw_only=True)
class Page:
    deliveries: list[Delivery]
    # What the address of the next page says; empty for none.
    next: str


def page_of(filter_: Filter, organization: Organization, *, before: str) -> Page:
    """Return the deliveries from that place on; read off the index, however far down it is."""
    found = filter_.deliveries(organization)
    if place := _place(before):
        at, pk = place
        found = found.filter(Q(after_sending_at__lt=at) | Q(pk__lt=pk), after_sending_at__lte=at)
    rows = list(with_all_that_is_shown(found)[: _PER_PAGE + 1])
    last = rows[_PER_PAGE - 1] if len(rows) > _PER_PAGE else None
    return Page(deliveries=rows[:_PER_PAGE], next=_place_of(last) if last else "")


def with_all_that_is_shown(found: QuerySet[Delivery]) -> QuerySet[Delivery]:
    """Load the invoice, its customer, the recipients, and when a later e-mail was delivered."""
    letters = Message.objects.filter(idempotency_key=OuterRef("idempotency_key"))
    return found.select_related("invoice__customer").annotate(
        sent_to=Subquery(letters.values("to")[:1]),
        sent_cc=Subquery(letters.values("cc")[:1]),
        settled_at=_settled_at(),
    )


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many came back, and how many were reported as spam; at most COUNTED + 1 of each."""

    came_back: int
    complained: int


def counts(filter_: Filter, organization: Organization) -> Counts:
    """Count what the filter shows; two queries. Who complains has the e-mail: it is not back."""
    found = filter_.deliveries(organization).order_by()
    complained = Q(after_sending=_Outcome.COMPLAINED)
    return Counts(
        came_back=found.exclude(complained)[: COUNTED + 1].count(),
        complained=found.filter(complained)[: COUNTED + 1].count(),
    )


def open_ones(organization: Organization) -> int:
    """Return how many came back and were not delivered since, at most COUNTED + 1; one query."""
    found = Filter(show=Show.OPEN).deliveries(organization).order_by()
    return found.exclude(after_sending=_Outcome.COMPLAINED)[: COUNTED + 1].count()


def _settled_at() -> Subquery:
    """When the first later e-mail of the same invoice got there; null while none has."""
    later = Delivery.objects.filter(
        invoice=OuterRef("invoice"), pk__gt=OuterRef("pk"), after_sending=_Outcome.DELIVERED
    )
    return Subquery(later.order_by("pk").values("after_sending_at")[:1])


def _place_of(delivery: Delivery) -> str:
    at = delivery.after_sending_at
    return f"{at.isoformat()}_{delivery.pk}" if at else ""


def _place(text: str) -> tuple[datetime, int] | None:
    moment, _line, number = text[:80].partition("_")
    # A number that PostgreSQL's bigint cannot hold is nobody's.
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return None
    sane = at.tzinfo is not None and 2000 <= at.year < 2200
    return (at, int(number)) if sane else None


def recipients_of(delivery: Any) -> tuple[str, ...]:
    """Return who got an e-mail that `with_all_that_is_shown` has loaded; empty if not known."""
    return (*(delivery.sent_to or ()), *(delivery.sent_cc or ()))
