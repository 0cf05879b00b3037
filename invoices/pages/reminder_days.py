"""The reminders of a day: which there are, what became of each, or who would get one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from deliveries.models import Delivery, DeliveryQuerySet
from invoices import overdue, reminders
from invoices.calendar import is_run_day, next_run, run_of
from invoices.models import Invoice, Organization
from invoices.pages.afterwards import CAME_BACK
from invoices.pages.formats import Formats, Moment
from invoices.pages.states import EmailState, Pill, days_overdue_note, reminder_state

PREVIEWED = 50
# Runs are looked up no further away than this; what a date picker holds may be anything.
_FIRST_DAY = date(2000, 1, 1)
_AHEAD = timedelta(days=366)

_Status = Delivery.Status
_CAME_BACK = Q(after_sending__in=CAME_BACK)
_COMPLAINED = Q(after_sending=Delivery.AfterSending.COMPLAINED)
_MAY_HAVE_ARRIVED = Q(dead_reason=Delivery.DeadReason.OUTCOME_UNKNOWN) | Q(
    handed_over_at__isnull=False
)
# What a reminder may have come to, as `Delivery.may_have_arrived` and the states tell it apart.
_GROUPS: dict[str, Q] = {
    "recorded": Q(status=_Status.QUEUED),
    "sending": Q(status=_Status.RUNNING),
    "retrying": Q(status=_Status.RETRYING),
    "sent": Q(~_CAME_BACK & ~_COMPLAINED, status=_Status.SENT),
    "came_back": Q(_CAME_BACK, status=_Status.SENT),
    "complained": Q(_COMPLAINED, status=_Status.SENT),
    "unknown": Q(_MAY_HAVE_ARRIVED, status=_Status.DEAD),
    "not_sent": Q(~_MAY_HAVE_ARRIVED, status=_Status.DEAD),
    "cancelled": Q(status=_Status.CANCELLED),
}


@dataclass(frozen=True, kw_only=True)
class Group(Pill):
    """Those of a day's reminders that came to the same, as a link that shows just them."""

    name: str
    count: int
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class ReminderRow:
    invoice_id: int
    number: str
    customer_name: str
    customer_email: str
    amount: str
    due_on: date
    due_text: str
    overdue: str
    # None for one that is only foreseen.
    state: EmailState | None


@dataclass(frozen=True, kw_only=True)
class ReminderDay:
    day: date
    title: str
    # None at weekends.
    run: Moment | None
    run_is_ahead: bool
    previous: date
    next: date
    groups: tuple[Group, ...]
    total: int

    @property
    def whole(self) -> bool:
        """Whether all of the day's reminders are shown, not just those of one group."""
        return not any(group.chosen for group in self.groups)


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    """Who would get a reminder as things stand: the first of them, and how many there are."""

    rows: list[ReminderRow]
    count: int
    complete: bool

    @property
    def more(self) -> bool:
        return self.count > len(self.rows) or not self.complete


def chosen_day(text: str | None, *, now: datetime) -> tuple[date, str]:
    """Return the day that an address asks for, else the last run's, and what is wrong with it."""
    default = _run_day_before(next_run(now).date())
    if not text:
        return default, ""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        sentence = _("“%(text)s” is not a day such as %(day)s.") % {
            "text": text[:40],
            "day": default.isoformat(),
        }
        return default, f"{sentence} {_here_is_the_last()}"
    if not _FIRST_DAY <= day <= now.date() + _AHEAD:
        sentence = _("%(day)s is too far away.") % {"day": day.isoformat()}
        return default, f"{sentence} {_here_is_the_last()}"
    return day, ""


def _here_is_the_last() -> str:
    return _("Here are the last run’s reminders.")


def reminder_day(
    organization: Organization, day: date, *, chosen: str | None, formats: Formats
) -> ReminderDay:
    """Return a day's frame; one query, for how many came to what."""
    counts = (
        reminders.of_day(organization, day)
        .order_by()
        .aggregate(**{name: Count("pk", filter=group) for name, group in _GROUPS.items()})
    )
    return ReminderDay(
        day=day,
        title=formats.weekday(day),
        run=formats.weekday_moment(run_of(day)) if is_run_day(day) else None,
        run_is_ahead=is_run_day(day) and formats.now < run_of(day),
        previous=_run_day_before(day),
        next=next_run(run_of(day)).date(),
        groups=tuple(
            _group(name, count, chosen=name == chosen)
            for name, count in counts.items()
            if count or name == chosen
        ),
        total=sum(counts.values()),
    )


def of_group(organization: Organization, day: date, name: str | None) -> DeliveryQuerySet:
    """Return a day's reminders; just those of one group if there is such a group."""
    of_day = reminders.of_day(organization, day)
    return of_day.filter(_GROUPS[name]) if name in _GROUPS else of_day


def reminder_rows(
    deliveries: Sequence[Delivery], day: date, *, formats: Formats
) -> list[ReminderRow]:
    """Return a row for each reminder; two queries, for the invoices and their customers."""
    invoices = _invoices([delivery.invoice_id for delivery in deliveries])
    return [
        _row(
            invoices[delivery.invoice_id],
            day,
            state=reminder_state(delivery, formats),
            formats=formats,
        )
        for delivery in deliveries
    ]


def foreseen(organization: Organization, day: date, *, formats: Formats) -> Foreseen:
    """Return who would get a reminder on that day; at most two queries."""
    if not organization.reminders_enabled:
        return Foreseen(rows=[], count=0, complete=True)
    preview = overdue.preview(organization, day)
    shown = preview.invoice_ids[:PREVIEWED]
    invoices = _invoices(shown)
    return Foreseen(
        rows=[
            _row(invoices[pk], day, state=None, formats=formats) for pk in shown if pk in invoices
        ],
        count=len(preview.invoice_ids),
        complete=preview.complete,
    )


def _invoices(ids: list[int]) -> dict[int, Invoice]:
    return Invoice.objects.select_related("customer").in_bulk(ids)


def _row(invoice: Invoice, day: date, *, state: EmailState | None, formats: Formats) -> ReminderRow:
    amount = invoice.amount_minor
    days = (run_of(day).astimezone(formats.zone).date() - invoice.due_on).days
    return ReminderRow(
        invoice_id=invoice.pk,
        number=invoice.number,
        customer_name=invoice.customer.name.strip(),
        customer_email=invoice.customer.email.strip(),
        amount="" if amount is None else formats.amount(amount, invoice.currency),
        due_on=invoice.due_on,
        due_text=formats.short_day(invoice.due_on),
        overdue=days_overdue_note(days),
        state=state,
    )


def _group(name: str, count: int, *, chosen: bool) -> Group:
    label, tone, icon = {
        "recorded": (_("Recorded"), "busy", "clock"),
        "sending": (_("Sending"), "busy", "spinner"),
        "retrying": (_("Retrying"), "wait", "retry"),
        "sent": (_("Sent"), "good", "check"),
        "came_back": (_("Came back"), "bad", "cross"),
        "complained": (_("Complained"), "bad", "alert"),
        "unknown": (_("We do not know"), "wait", "question"),
        "not_sent": (_("Not sent"), "bad", "cross"),
        "cancelled": (_("Cancelled"), "quiet", "slash"),
    }[name]
    return Group(name=name, label=label, tone=tone, icon=icon, count=count, chosen=chosen)


def _run_day_before(day: date) -> date:
    day -= timedelta(days=1)
    while not is_run_day(day):
        day -= timedelta(days=1)
    return day
