"""From whatever support was told to the deliveries and invoices that it means; all by index."""

from django.db.models import QuerySet

from deliveries import directory
from deliveries.models import Delivery, DeliveryEvent, Message, ProviderEvent

# So many deliveries of an invoice are read to tell it from the next.
_ROWS_EACH = 10
_MOST_INVOICES_OF_A_LIST = 1_000
_LONGEST_TERM = 320


def invoices_meant(term: str, *, limit: int, addresses: bool = True) -> list[int]:
    """Return the invoices that the term means, at most `limit`; `addresses` if it may be one.

    It is an id of ours or the provider's, whole; else an invoice's number, or a customer's name or
    address, or how they begin, or an address that a message went to, or a request's id. Requests
    name their ids themselves: those matches stand beside the others, and hide none.
    """
    term = term.strip()
    if not _searchable(term):
        return []
    if (named := _named_exactly(term)) is not None:
        return _invoices_of(named, limit=limit)
    found = [
        *directory.current().find(term, limit=limit, addresses=addresses),
        *(_written_to(term, limit=limit) if addresses else ()),
        *_invoices_of(_of_request(term), limit=limit),
    ]
    return list(dict.fromkeys(found))[:limit]


def deliveries_meant(term: str, *, addresses: bool = True) -> QuerySet[Delivery]:
    """Return all deliveries that the term means, as `invoices_meant` understands it."""
    term = term.strip()
    if not _searchable(term):
        return Delivery.objects.none()
    if (named := _named_exactly(term)) is not None:
        return named
    # A batch's id is that of thousands of deliveries.
    if (requested := _of_request(term)).exists():
        return requested
    ids = invoices_meant(term, limit=_MOST_INVOICES_OF_A_LIST, addresses=addresses)
    return Delivery.objects.filter(invoice__in=ids)


def event_of_nobody(term: str) -> ProviderEvent | None:
    """Return the newest of what the provider told of a message that belongs to nothing here."""
    if not _searchable(term := term.strip()):
        return None
    waiting = ProviderEvent.objects.filter(
        provider_message_id=term, state=ProviderEvent.State.WAITING
    )
    return waiting.order_by("-id").first()


def _searchable(term: str) -> bool:
    return bool(term) and len(term) <= _LONGEST_TERM and "\x00" not in term


def _named_exactly(term: str) -> QuerySet[Delivery] | None:
    """Return the deliveries that have exactly this id; None if none has."""
    for deliveries in (
        Delivery.objects.filter(dedupe_key=term),
        Delivery.objects.filter(idempotency_key=term),
        # The key of a message that another has replaced since.
        Delivery.objects.filter(
            pk__in=Message.objects.filter(idempotency_key=term).values("delivery")
        ),
        Delivery.objects.filter(provider_message_id=term),
        # A second e-mail of one of ours, or one whose answer got lost: the provider told whose.
        Delivery.objects.filter(
            pk__in=ProviderEvent.objects.filter(
                provider_message_id=term, delivery__isnull=False
            ).values("delivery")
        ),
    ):
        if deliveries.exists():
            return deliveries
    return None


def _of_request(term: str) -> QuerySet[Delivery]:
    """Return the deliveries of a request, a run or an action by its id."""
    # The delivery's own is its first event's.
    events = DeliveryEvent.objects.filter(correlation_id=term)
    return Delivery.objects.filter(pk__in=events.values("delivery"))


def _invoices_of(deliveries: QuerySet[Delivery], *, limit: int) -> list[int]:
    rows = deliveries.order_by("-id").values_list("invoice_id", flat=True)[: limit * _ROWS_EACH]
    return list(dict.fromkeys(rows))[:limit]


def _written_to(address: str, *, limit: int) -> list[int]:
    """Return invoices by the address as it was when a message went there."""
    if "@" not in address:
        return []
    messages = Message.objects.filter(to__contains=[address.strip("<>")]).order_by("-id")
    return list(messages.values_list("delivery__invoice_id", flat=True)[:limit])
