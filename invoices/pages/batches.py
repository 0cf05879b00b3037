"""What the pages show of batches: what became of each invoice, and which batches there were."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from deliveries.models import Delivery
from invoices.models import Batch, BatchItem, Invoice
from invoices.pages.afterwards import CAME_BACK
from invoices.pages.batch_notes import OPEN
from invoices.pages.formats import Formats, Moment
from invoices.pages.lists import fingerprint
from invoices.pages.states import EmailState, Pill, email_state

_Status = Delivery.Status

_MAY_HAVE_ARRIVED = Q(delivery__dead_reason=Delivery.DeadReason.OUTCOME_UNKNOWN) | Q(
    delivery__handed_over_at__isnull=False
)
_SENT = Q(delivery__status=_Status.SENT)
_COMPLAINED = Q(delivery__after_sending=Delivery.AfterSending.COMPLAINED)
_CAME_BACK = Q(delivery__after_sending__in=CAME_BACK)
_DEAD = Q(delivery__status=_Status.DEAD)
# name: which items, tone, icon. Each item is in exactly one of them.
_GROUPS: dict[str, tuple[Q, str, str]] = {
    "sent": (_SENT & ~_CAME_BACK & ~_COMPLAINED, "good", "check"),
    "came_back": (_SENT & _CAME_BACK, "bad", "cross"),
    "complained": (_SENT & _COMPLAINED, "bad", "alert"),
    "waiting": (Q(delivery__status__in=[_Status.QUEUED, _Status.RUNNING]), "busy", "clock"),
    "retrying": (Q(delivery__status=_Status.RETRYING), "wait", "retry"),
    "unknown": (_DEAD & _MAY_HAVE_ARRIVED, "wait", "question"),
    "not_sent": (_DEAD & ~_MAY_HAVE_ARRIVED, "bad", "cross"),
    "cancelled": (Q(delivery__status=_Status.CANCELLED), "quiet", "slash"),
    "archived": (
        Q(delivery_id__isnull=False, delivery__status__isnull=True),
        "quiet",
        "dash",
    ),
    "skipped": (~Q(skipped=""), "quiet", "dash"),
    "pending": (Q(delivery_id__isnull=True, skipped=""), "wait", "alert"),
}


# The groups whose e-mails came to an end.
_ENDED = ("sent", "came_back", "complained", "unknown", "not_sent", "cancelled", "archived")


def _group_label(name: str) -> str:
    return {
        "sent": _("Sent"),
        "came_back": _("Came back"),
        "complained": _("Complained"),
        "waiting": _("Waiting"),
        "retrying": _("Retrying"),
        "unknown": _("We do not know"),
        "not_sent": _("Not sent"),
        "cancelled": _("Cancelled"),
        "archived": _("In the archive"),
        "skipped": _("Skipped"),
        "pending": _("Not begun"),
    }[name]


def skipped_words(why: str, count: int, formats: Formats) -> str:
    words = {
        BatchItem.Skipped.SENT: _("already sent"),
        BatchItem.Skipped.UNDER_WAY: _("already on its way"),
        BatchItem.Skipped.PAID: _("paid"),
        BatchItem.Skipped.VOID: _("void"),
        BatchItem.Skipped.NOT_SENT: _("not sent before: support has to look at it"),
        BatchItem.Skipped.PROBLEM: _("with something missing or wrong"),
    }[BatchItem.Skipped(why)]
    return f"{formats.count(count)} {words}"


def amount_of(invoice: Invoice, formats: Formats) -> str:
    minor = invoice.amount_minor
    return "" if minor is None else formats.amount(minor, invoice.currency)


# A batch's page ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Group(Pill):
    """Those of a batch's invoices that came to the same, as a link that shows just them."""

    name: str
    count: int
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class ItemRow:
    invoice_id: int
    number: str
    customer: str
    amount: str
    # None for one that was left out, or is not begun; then `pill` says so, and `reason` why.
    email: EmailState | None
    pill: Pill | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class BatchPage:
    id: int
    chosen: str
    person: str
    moment: Moment
    size: int
    queued: int
    skipped: int
    pending: int
    # What is so, in a few words each: queued while something is under way, then what became of it.
    outcome: tuple[str, ...]
    reasons: tuple[str, ...]
    # How many e-mails came to an end, of all that were queued.
    done: int
    groups: tuple[Group, ...]
    whole: bool
    final: bool
    sentence: str
    rows: tuple[ItemRow, ...]
    version: str


def items_of(batch: Batch, group: str | None) -> QuerySet[BatchItem]:
    """Return a batch's items, or those of one group, in the order in which they go out."""
    items = batch.items.select_related("delivery", "invoice__customer").order_by("invoice_id")
    known = _GROUPS.get(group or "")
    return items.filter(known[0]) if known else items


def batch_page(
    batch: Batch, items: Sequence[BatchItem], *, chosen: str | None, formats: Formats
) -> BatchPage:
    """Return a batch's page with those of its items that are shown."""
    counts = _counts(batch)
    done = sum(counts[name] for name in _ENDED)
    going = counts["waiting"] + counts["retrying"]
    groups = _groups(counts, chosen)
    rows = tuple(_row(item, formats) for item in items)
    return BatchPage(
        id=batch.pk,
        chosen=batch.chosen,
        person=batch.requested_by.get_full_name() or batch.requested_by.get_username(),
        moment=formats.moment(batch.created_at),
        size=batch.size,
        queued=batch.queued,
        skipped=batch.skipped,
        pending=batch.pending,
        outcome=_outcome(counts, queued=batch.queued, formats=formats),
        reasons=_reasons(batch, formats),
        done=done,
        groups=groups,
        whole=chosen not in _GROUPS,
        final=not going and not batch.pending,
        sentence=_sentence(counts, going, formats),
        rows=rows,
        version=fingerprint(groups, rows, batch.pending),
    )


def _groups(counts: dict[str, int], chosen: str | None) -> tuple[Group, ...]:
    return tuple(
        Group(
            label=_group_label(name),
            tone=tone,
            icon=icon,
            name=name,
            count=counts[name],
            chosen=name == chosen,
        )
        for name, (_which, tone, icon) in _GROUPS.items()
        if counts[name]
    )


def _counts(batch: Batch) -> dict[str, int]:
    # Not under the groups' own names: one of them is a column's.
    counted = {f"in_{name}": Count("pk", filter=which) for name, (which, *_) in _GROUPS.items()}
    counts = batch.items.aggregate(**counted)
    return {name: counts[f"in_{name}"] for name in _GROUPS}


def _reasons(batch: Batch, formats: Formats) -> tuple[str, ...]:
    counted = (
        batch.items.exclude(skipped="")
        .values_list("skipped")
        .annotate(count=Count("pk"))
        .order_by("skipped")
    )
    return tuple(skipped_words(why, count, formats) for why, count in counted)


def _outcome(counts: dict[str, int], *, queued: int, formats: Formats) -> tuple[str, ...]:
    if not queued or counts["waiting"] or counts["retrying"]:
        parts = {"queued": queued}
    else:
        parts = {name: counts[name] for name in _ENDED if counts[name]}
    parts |= {name: counts[name] for name in ("skipped", "pending") if counts[name]}
    return tuple(
        _in_words(name, count) % {"count": formats.count(count)} for name, count in parts.items()
    )


def _in_words(name: str, count: int) -> str:
    match name:
        case "queued":
            return ngettext("%(count)s e-mail queued", "%(count)s e-mails queued", count)
        case "sent":
            return ngettext("%(count)s e-mail sent", "%(count)s e-mails sent", count)
        case "unknown":
            return _("%(count)s of which we do not know")
        case "archived":
            return _("%(count)s in the archive")
        case _:
            return "%(count)s " + _group_label(name).lower()


def _sentence(counts: dict[str, int], going: int, formats: Formats) -> str:
    """Say where the batch stands, for those who hear the page."""
    if going:
        return _("%(sent)s sent, %(going)s still to go.") % {
            "sent": formats.count(counts["sent"]),
            "going": formats.count(going),
        }
    text = ngettext("%(sent)s e-mail sent.", "%(sent)s e-mails sent.", counts["sent"])
    return text % {"sent": formats.count(counts["sent"])}


def _row(item: BatchItem, formats: Formats) -> ItemRow:
    invoice = item.invoice
    pill = None
    if item.delivery is None:
        name = "skipped" if item.skipped else "archived" if item.delivery_id else "pending"
        _which, tone, icon = _GROUPS[name]
        pill = Pill(label=_group_label(name), tone=tone, icon=icon)
    return ItemRow(
        invoice_id=invoice.pk,
        number=invoice.number,
        customer=invoice.customer.name.strip() or invoice.customer.email.strip(),
        amount=amount_of(invoice, formats),
        email=email_state(invoice, item.delivery, formats) if item.delivery else None,
        pill=pill,
        reason=item.reason,
    )


# The list of batches -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BatchRow:
    id: int
    chosen: str
    person: str
    moment: Moment
    queued: int
    skipped: int
    pending: int
    going: int


def batch_rows(batches: Sequence[Batch], *, formats: Formats) -> list[BatchRow]:
    """Return a row for each batch, whose person must be loaded; one query."""
    going = dict(
        BatchItem.objects.filter(batch__in=batches, delivery__status__in=OPEN)
        .values_list("batch_id")
        .annotate(count=Count("pk"))
    )
    return [
        BatchRow(
            id=batch.pk,
            chosen=batch.chosen,
            person=batch.requested_by.get_full_name() or batch.requested_by.get_username(),
            moment=formats.moment(batch.created_at),
            queued=batch.queued,
            skipped=batch.skipped,
            pending=batch.pending,
            going=going.get(batch.pk, 0),
        )
        for batch in batches
    ]
