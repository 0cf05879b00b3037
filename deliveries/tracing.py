"""One search for "I never got it": from whatever support was told to the whole story."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from deliveries import directory, searching
from deliveries.models import NOBODY_KNOWS, Delivery, DeliveryEvent

# A search that means more invoices than this is asked to be narrower.
MOST_INVOICES = 20
# An invoice with years of reminders: the newest deliveries of each.
MOST_DELIVERIES = 50
# A delivery that was requested again and again: its newest steps.
MOST_STEPS = 200

_Type = DeliveryEvent.Type
_TONES: dict[str, str] = {
    _Type.SENT: "good",
    _Type.DIED: "bad",
    _Type.ATTEMPT_FAILED: "wait",
    _Type.LEASE_LOST: "wait",
    _Type.REQUESTED: "busy",
    _Type.REPLAYED: "busy",
    _Type.CORRECTED: "busy",
    _Type.DELAYED: "wait",
    _Type.DELIVERED: "good",
    _Type.BOUNCED_FOR_NOW: "wait",
    _Type.SUPPRESSED: "bad",
    _Type.FAILED: "bad",
    _Type.BOUNCED: "bad",
    _Type.COMPLAINED: "bad",
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of a story: an event of a delivery, or what a person did to its invoice."""

    at: datetime
    label: str
    tone: str
    sentence: str
    # The person, else the worker, else the provider, the restore or the schedule whose doing it is.
    who: str
    # An IANA name, of the organization.
    zone: str
    correlation_id: str = ""
    # None for what concerns the invoice alone.
    delivery: Delivery | None = None

    @property
    def utc(self) -> str:
        return f"{self.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"

    @property
    def local(self) -> str:
        """The organization's own clock, with its date where that is another one."""
        local = self.at.astimezone(ZoneInfo(self.zone))
        same_day = local.date() == self.at.astimezone(UTC).date()
        return f"{local:%H:%M:%S}" if same_day else f"{local:%Y-%m-%d %H:%M:%S}"


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
        found += [step.correlation_id for step in self.steps if step.correlation_id]
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


def search(term: str, *, addresses: bool = True) -> Found:
    """Return the traces of the invoices that the term means, see `searching.invoices_meant`."""
    term = term.strip()
    ids = searching.invoices_meant(term, limit=MOST_INVOICES + 1, addresses=addresses)
    return Found(term=term, traces=traces(ids[:MOST_INVOICES]), more=len(ids) > MOST_INVOICES)


def traces(invoice_ids: Iterable[int]) -> tuple[Trace, ...]:
    """Return the traces of these invoices, in this order; four queries."""
    ids = list(invoice_ids)
    entries = directory.current().entries(ids)
    deliveries: dict[int, list[Delivery]] = defaultdict(list)
    for delivery in _newest_of_each(ids):
        deliveries[delivery.invoice_id].append(delivery)
    kept = {id_: found[:MOST_DELIVERIES] for id_, found in deliveries.items()}
    steps: dict[int, list[Step]] = defaultdict(list)
    for step in steps_of([each for found in kept.values() for each in found], entries):
        if step.delivery is not None:
            steps[step.delivery.invoice_id].append(step)
    for id_, entry in entries.items():
        steps[id_] = sorted([*steps[id_], *_remarks(entry)], key=lambda step: step.at)
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


def steps_of(deliveries: Sequence[Delivery], entries: Mapping[int, directory.Entry]) -> list[Step]:
    """Return the newest steps of each of these deliveries, oldest first; one query."""
    by_id = {delivery.pk: delivery for delivery in deliveries}
    events = DeliveryEvent.objects.raw(_NEWEST_EVENTS, {"ids": list(by_id), "most": MOST_STEPS})
    found = list(events.prefetch_related("actor"))
    steps = []
    for event in sorted(found, key=lambda event: (event.at, event.pk)):
        delivery = by_id[event.delivery_id]
        entry = entries.get(delivery.invoice_id)
        steps.append(_step(event, delivery, zone=entry.time_zone if entry else "UTC"))
    return steps


def _step(event: DeliveryEvent, delivery: Delivery, *, zone: str) -> Step:
    label = event.in_words(
        event.details.get("dead_reason", ""), may_have_arrived=delivery.may_have_arrived
    )
    return Step(
        at=event.at,
        label=label,
        tone="wait" if label == NOBODY_KNOWS else _TONES.get(event.type, "quiet"),
        sentence=event.sentence,
        who=_who(event),
        zone=zone,
        correlation_id=event.correlation_id,
        delivery=delivery,
    )


def _who(event: DeliveryEvent) -> str:
    if event.actor is not None:
        return event.actor.get_full_name() or event.actor.get_username()
    if event.type in Delivery.AfterSending:
        return "the provider"
    if event.details.get("restored"):
        return "the restore"
    return event.worker or "the schedule"


def _remarks(entry: directory.Entry) -> list[Step]:
    return [
        Step(
            at=remark.at,
            label="Invoice",
            tone="quiet",
            sentence=remark.sentence,
            who=remark.who,
            zone=entry.time_zone,
        )
        for remark in entry.remarks
    ]


# Each invoice and each delivery by itself: one with years of reminders, or one that a program
# requests every second, must not crowd out the others.
_NEWEST_DELIVERIES = """
    SELECT d.* FROM unnest(%(ids)s::bigint[]) AS wanted(id) JOIN LATERAL (
        SELECT * FROM deliveries_delivery WHERE invoice_id = wanted.id
        ORDER BY id DESC LIMIT %(most)s
    ) d ON true ORDER BY d.id DESC
"""
_NEWEST_EVENTS = """
    SELECT e.* FROM unnest(%(ids)s::bigint[]) AS wanted(id) JOIN LATERAL (
        SELECT * FROM deliveries_deliveryevent WHERE delivery_id = wanted.id
        ORDER BY id DESC LIMIT %(most)s
    ) e ON true
"""


def _newest_of_each(invoice_ids: list[int]) -> Iterable[Delivery]:
    parameters = {"ids": invoice_ids, "most": MOST_DELIVERIES + 1}
    return Delivery.objects.raw(_NEWEST_DELIVERIES, parameters)
