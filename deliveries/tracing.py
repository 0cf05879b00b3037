"""One search for "I never got it": from whatever support was told to the whole story."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC
from zoneinfo import ZoneInfo

from django.db.models import QuerySet

from deliveries import directory
from deliveries.models import Delivery, DeliveryEvent, Message

# A search that means more invoices than this is asked to be narrower.
MOST_INVOICES = 20
# An invoice with years of reminders: the newest deliveries of each.
MOST_DELIVERIES = 50
_MOST_INVOICES_OF_A_LIST = 1_000
# Enough deliveries to tell more than MOST_INVOICES invoices, where some have several.
_ENOUGH_ROWS = 200
_LONGEST_TERM = 320

_Type = DeliveryEvent.Type
_TONES: dict[str, str] = {
    _Type.SENT: "good",
    _Type.DIED: "bad",
    _Type.ATTEMPT_FAILED: "wait",
    _Type.LEASE_LOST: "wait",
    _Type.REQUESTED: "busy",
    _Type.REPLAYED: "busy",
    _Type.CORRECTED: "busy",
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One event of a delivery's timeline."""

    event: DeliveryEvent
    delivery: Delivery
    # An IANA name, of the organization.
    zone: str

    @property
    def utc(self) -> str:
        return f"{self.event.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"

    @property
    def local(self) -> str:
        """The organization's own clock, with its date where that is another one."""
        local = self.event.at.astimezone(ZoneInfo(self.zone))
        same_day = local.date() == self.event.at.astimezone(UTC).date()
        return f"{local:%H:%M:%S}" if same_day else f"{local:%Y-%m-%d %H:%M:%S}"

    @property
    def who(self) -> str:
        """The person, else the worker, else the schedule that asked for it."""
        if self.event.actor is not None:
            return self.event.actor.get_full_name() or self.event.actor.get_username()
        return self.event.worker or "the schedule"

    @property
    def tone(self) -> str:
        return _TONES.get(self.event.type, "quiet")


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Everything that is known of one invoice's e-mails, oldest step first."""

    entry: directory.Entry
    deliveries: tuple[Delivery, ...]
    steps: tuple[Step, ...]
    # Older deliveries of the invoice are left out.
    shortened: bool = False

    @property
    def correlation_ids(self) -> tuple[str, ...]:
        """Every request and schedule that had to do with it, in order."""
        found = [delivery.correlation_id for delivery in self.deliveries]
        found += [step.event.correlation_id for step in self.steps]
        return tuple(dict.fromkeys(found))

    @property
    def log_search(self) -> str:
        """The extended regular expression that finds all its lines in the logs: `grep -E '…'`."""
        # Of what an id may hold, only the dot means something else in a pattern.
        return "|".join(self.correlation_ids).replace(".", r"\.")


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search found; `more` if there is more than is shown."""

    term: str
    traces: tuple[Trace, ...]
    more: bool


def search(term: str) -> Found:
    """Return the traces of the invoices that the term means.

    It is an id of ours or of the provider's, exactly (request or correlation id, dedupe key,
    idempotency key, provider's message id); else an invoice's number, or a customer's name or
    address, or how they begin. Thirteen queries at most, all by index.
    """
    term = term.strip()
    if not _searchable(term):
        return Found(term=term, traces=(), more=False)
    named = named_exactly(term)
    ids = list(
        dict.fromkeys(named.order_by("-id").values_list("invoice_id", flat=True)[:_ENOUGH_ROWS])
        if named is not None
        else directory.current().find(term, limit=MOST_INVOICES + 1)
    )
    return Found(term=term, traces=traces(ids[:MOST_INVOICES]), more=len(ids) > MOST_INVOICES)


def meant_by(term: str) -> QuerySet[Delivery]:
    """Return all deliveries that the term means, as `search` understands it."""
    term = term.strip()
    if not _searchable(term):
        return Delivery.objects.none()
    named = named_exactly(term)
    if named is not None:
        return named
    return Delivery.objects.filter(
        invoice__in=directory.current().find(term, limit=_MOST_INVOICES_OF_A_LIST)
    )


def named_exactly(term: str) -> QuerySet[Delivery] | None:
    """Return the deliveries that have exactly this id; None if none has."""
    for deliveries in (
        Delivery.objects.filter(dedupe_key=term),
        Delivery.objects.filter(idempotency_key=term),
        # The key of a message that another has replaced since.
        Delivery.objects.filter(
            pk__in=Message.objects.filter(idempotency_key=term).values("delivery")
        ),
        Delivery.objects.filter(provider_message_id=term),
        # Last, since a batch's id is that of thousands. The delivery's own is an event's as well.
        Delivery.objects.filter(
            pk__in=DeliveryEvent.objects.filter(correlation_id=term).values("delivery")
        ),
    ):
        if deliveries.exists():
            return deliveries
    return None


def traces(invoice_ids: Iterable[int]) -> tuple[Trace, ...]:
    """Return the traces of these invoices, in this order; three queries."""
    ids = list(invoice_ids)
    entries = directory.current().entries(ids)
    deliveries: dict[int, list[Delivery]] = defaultdict(list)
    for delivery in _newest_of_each(ids):
        deliveries[delivery.invoice_id].append(delivery)
    kept = {id_: found[:MOST_DELIVERIES] for id_, found in deliveries.items()}
    steps = _steps([delivery for found in kept.values() for delivery in found], entries)
    return tuple(
        Trace(
            entry=entries[id_],
            deliveries=tuple(reversed(kept.get(id_, []))),
            steps=tuple(steps[id_]),
            shortened=len(deliveries[id_]) > MOST_DELIVERIES,
        )
        for id_ in ids
        if id_ in entries
    )


def _searchable(term: str) -> bool:
    return bool(term) and len(term) <= _LONGEST_TERM and "\x00" not in term


def _newest_of_each(invoice_ids: list[int]) -> QuerySet[Delivery]:
    return (
        Delivery.objects.filter(invoice__in=invoice_ids)
        .select_related("requested_by")
        .order_by("-id")[: MOST_INVOICES * (MOST_DELIVERIES + 1)]
    )


def _steps(
    deliveries: list[Delivery], entries: dict[int, directory.Entry]
) -> dict[int, list[Step]]:
    """Return the events of these deliveries by invoice, in order of time."""
    by_id = {delivery.pk: delivery for delivery in deliveries}
    events = DeliveryEvent.objects.filter(delivery__in=by_id).select_related("actor")
    steps: dict[int, list[Step]] = defaultdict(list)
    for event in events.order_by("at", "id"):
        delivery = by_id[event.delivery_id]
        entry = entries.get(delivery.invoice_id)
        zone = entry.time_zone if entry else "UTC"
        steps[delivery.invoice_id].append(Step(event=event, delivery=delivery, zone=zone))
    return steps
