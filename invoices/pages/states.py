"""What the pages say about an invoice: the state of its e-mail, and of its payment."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from deliveries.models import Delivery
from invoices.models import Invoice
from invoices.pages.afterwards import afterwards
from invoices.pages.formats import Formats, Moment

# A page that shows "Sent" goes on asking for so long: "Delivered" comes without a reload.
REPORT_AWAITED_FOR = timedelta(seconds=30)

_Status = Delivery.Status
_Reason = Delivery.DeadReason


@dataclass(frozen=True, kw_only=True)
class Pill:
    """A state in a word, told by its icon's shape as well as by its tone's colour.

    `tone` is a class of the stylesheet, `icon` a symbol of invoices/_icons.html.
    """

    label: str
    tone: str
    icon: str


@dataclass(frozen=True, kw_only=True)
class EmailState(Pill):
    """What became of an invoice's e-mail: "Sent", when, and why if it was not.

    `moment_label` stands before the moment: "next try" 10:42. While it is not `final` the page
    asks again.
    """

    final: bool = False
    moment: Moment | None = None
    moment_label: str = ""
    detail: str = ""

    @property
    def sentence(self) -> str:
        """The whole in words, for those who hear the page: "Retrying, next try 10:42. …"."""
        moment = self.moment.text if self.moment else ""
        when = " ".join(part for part in (self.moment_label, moment) if part)
        if not when:
            head = self.label
        else:
            head = f"{self.label}, {when}" if self.moment_label else f"{self.label} {when}"
        return ". ".join(part for part in (head, self.detail) if part)


def email_state(invoice: Invoice, delivery: Delivery | None, formats: Formats) -> EmailState:
    """Return what the latest delivery of an invoice's e-mail says; None if there is none."""
    if delivery is None:
        return _without_delivery(invoice)
    return _BY_STATUS[_Status(delivery.status)](delivery, formats)


def reminder_state(delivery: Delivery, formats: Formats) -> EmailState:
    """Return what became of a reminder: recorded by a run, then as any e-mail."""
    state = _BY_STATUS[_Status(delivery.status)](delivery, formats)
    return replace(state, label=_("Recorded")) if delivery.status == _Status.QUEUED else state


def _without_delivery(invoice: Invoice) -> EmailState:
    if invoice.status == Invoice.Status.DRAFT:
        return EmailState(label=_("Not sent yet"), tone="quiet", icon="ring", final=True)
    # Imported as sent or paid: what another system did is nothing that we know.
    return EmailState(label=_("No e-mail from here"), tone="quiet", icon="dash", final=True)


def _queued(delivery: Delivery, formats: Formats) -> EmailState:
    return EmailState(
        label=_("Sending"),
        tone="busy",
        icon="clock",
        moment=formats.clock(delivery.created_at),
        moment_label=_("waiting since"),
    )


def _running(delivery: Delivery, formats: Formats) -> EmailState:
    late = delivery.locked_until is not None and delivery.locked_until < formats.now
    return EmailState(
        label=_("Sending"),
        tone="busy",
        icon="spinner",
        moment=formats.clock(delivery.created_at),
        moment_label=_("since"),
        detail=_("Its worker is overdue; another one takes over.") if late else "",
    )


def _retrying(delivery: Delivery, formats: Formats) -> EmailState:
    next_at = delivery.next_attempt_at
    future = next_at if next_at and next_at > formats.now else None
    return EmailState(
        label=_("Retrying"),
        tone="wait",
        icon="retry",
        # Tries are seconds apart at first.
        moment=formats.clock_exact(future) if future else None,
        moment_label=_("next try") if future else _("next try due now"),
        detail=_sentence(delivery.last_error),
    )


def _sent(delivery: Delivery, formats: Formats) -> EmailState:
    if delivery.after_sending:
        told, at = afterwards(delivery), delivery.after_sending_at
        return EmailState(
            label=told.label,
            tone=told.tone,
            icon=told.icon,
            final=True,
            moment=formats.moment(at) if at else None,
            detail=told.detail,
        )
    moment = formats.moment(delivery.sent_at) if delivery.sent_at else None
    final = not _report_is_awaited(delivery, formats)
    return EmailState(label=_("Sent"), tone="good", icon="check", final=final, moment=moment)


def _report_is_awaited(delivery: Delivery, formats: Formats) -> bool:
    """Tell whether the provider may report any moment now; most do within seconds."""
    if not settings.EMAIL_PROVIDER_WEBHOOK_KEYS or delivery.sent_at is None:
        return False
    return formats.now - delivery.sent_at < REPORT_AWAITED_FOR


def _dead(delivery: Delivery, formats: Formats) -> EmailState:
    moment = formats.moment(delivery.finished_at) if delivery.finished_at else None
    if delivery.may_have_arrived:
        return EmailState(
            label=_("We do not know"),
            tone="wait",
            icon="question",
            final=True,
            moment=moment,
            moment_label=_("given up"),
            detail=_(
                "The customer may or may not have it: %(error)s Before it is sent again, ask the "
                "customer, or let support look at the provider’s log."
            )
            % {"error": _sentence(delivery.last_error)},
        )
    return EmailState(
        label=_("Not sent"),
        tone="bad",
        icon="cross",
        final=True,
        moment=moment,
        detail=_why_dead(delivery),
    )


def _why_dead(delivery: Delivery) -> str:
    if delivery.dead_reason == _Reason.CRASHED:
        return _("It %(what)s. Support has to look at it.") % {
            "what": delivery.last_error.rstrip(".")
        }
    return _sentence(delivery.last_error)


def _cancelled(delivery: Delivery, formats: Formats) -> EmailState:
    return EmailState(
        label=_("Cancelled"),
        tone="wait" if delivery.may_have_arrived else "quiet",
        icon="slash",
        final=True,
        moment=formats.moment(delivery.finished_at) if delivery.finished_at else None,
        detail=_sentence(delivery.last_error),
    )


_BY_STATUS: dict[_Status, Callable[[Delivery, Formats], EmailState]] = {
    _Status.QUEUED: _queued,
    _Status.RUNNING: _running,
    _Status.RETRYING: _retrying,
    _Status.SENT: _sent,
    _Status.DEAD: _dead,
    _Status.CANCELLED: _cancelled,
}


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?…。" else f"{text}."


def payment_state(invoice: Invoice, formats: Formats) -> Pill:
    """Where the invoice stands with its customer, apart from its e-mail."""
    match invoice.status:
        case Invoice.Status.DRAFT:
            return Pill(label=_("Draft"), tone="quiet", icon="ring")
        case Invoice.Status.PAID:
            return Pill(label=_("Paid"), tone="good", icon="check")
        case Invoice.Status.VOID:
            return Pill(label=_("Void"), tone="quiet", icon="slash")
        case Invoice.Status.FAILED:
            # Not "not sent": of some e-mails that were given up nobody knows.
            return Pill(label=_("On hold"), tone="wait", icon="alert")
        case _ if overdue_days(invoice, formats):
            return Pill(label=_("Overdue"), tone="bad", icon="alert")
        case _:
            return Pill(label=_("Open"), tone="plain", icon="ring")


def overdue_days(invoice: Invoice, formats: Formats) -> int:
    """Return how many days ago an unpaid invoice was due, by the organization's calendar."""
    if invoice.status in {Invoice.Status.PAID, Invoice.Status.VOID}:
        return 0
    return max(0, (formats.today - invoice.due_on).days)


def overdue_note(invoice: Invoice, formats: Formats) -> str:
    """Say "12 days overdue"; "past due" of what its customer cannot have paid yet."""
    days = overdue_days(invoice, formats)
    if not days:
        return ""
    if invoice.status in {Invoice.Status.DRAFT, Invoice.Status.FAILED}:
        text = ngettext("%(days)s day past due", "%(days)s days past due", days)
        return text % {"days": days}
    return days_overdue_note(days)


def days_overdue_note(days: int) -> str:
    if days < 1:
        return ""
    return ngettext("%(days)s day overdue", "%(days)s days overdue", days) % {"days": days}
