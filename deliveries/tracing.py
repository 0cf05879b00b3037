"""One search for "I never got it": from whatever support was told to the whole story."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from deliveries import directory
from deliveries.models import Delivery, DeliveryEvent

# A search that means more invoices than this is asked to be narrower.
MOST_INVOICES = 20
# An invoice with years of reminders: the newest deliveries of each.
MOST_DELIVERIES = 50


@dataclass(frozen=True, kw_only=True)
class Step:
    """One event, and the delivery it belongs to."""

    event: DeliveryEvent
    delivery: Delivery


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
        return "|".join(self.correlation_ids)


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
    address, or how they begin. Eight queries at most, all by index.
    """
    term = term.strip()
    if not term or "\x00" in term:
        return Found(term=term, traces=(), more=False)
    ids = _by_our_ids(term) or list(directory.current().find(term, limit=MOST_INVOICES + 1))
    return Found(term=term, traces=traces(ids[:MOST_INVOICES]), more=len(ids) > MOST_INVOICES)


def traces(invoice_ids: Iterable[int]) -> tuple[Trace, ...]:
    """Return the traces of these invoices, in this order; three queries."""
    ids = list(invoice_ids)
    entries = directory.current().entries(ids)
    deliveries: dict[int, list[Delivery]] = defaultdict(list)
    for delivery in _newest_of_each(ids):
        deliveries[delivery.invoice_id].append(delivery)
    kept = {id_: found[:MOST_DELIVERIES] for id_, found in deliveries.items()}
    steps = _steps([delivery for found in kept.values() for delivery in found])
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


def _by_our_ids(term: str) -> list[int]:
    """Return the invoices whose deliveries have exactly this id, newest first."""
    for deliveries in (
        Delivery.objects.filter(dedupe_key=term),
        Delivery.objects.filter(idempotency_key=term),
        Delivery.objects.filter(provider_message_id=term),
        Delivery.objects.filter(correlation_id=term),
        Delivery.objects.filter(
            pk__in=DeliveryEvent.objects.filter(correlation_id=term).values("delivery")
        ),
    ):
        found = deliveries.order_by("-id").values_list("invoice_id", flat=True)
        if ids := list(dict.fromkeys(found[: MOST_INVOICES + 1])):
            return ids
    return []


def _newest_of_each(invoice_ids: list[int]) -> QuerySet[Delivery]:
    return (
        Delivery.objects.filter(invoice__in=invoice_ids)
        .select_related("requested_by")
        .order_by("-id")[: MOST_INVOICES * (MOST_DELIVERIES + 1)]
    )


def _steps(deliveries: list[Delivery]) -> dict[int, list[Step]]:
    """Return the events of these deliveries by invoice, in order of time."""
    by_id = {delivery.pk: delivery for delivery in deliveries}
    events = DeliveryEvent.objects.filter(delivery__in=by_id).select_related("actor")
    steps: dict[int, list[Step]] = defaultdict(list)
    for event in events.order_by("at", "id"):
        delivery = by_id[event.delivery_id]
        steps[delivery.invoice_id].append(Step(event=event, delivery=delivery))
    return steps
