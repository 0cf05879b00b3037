"""What the pages say about an invoice: the state of its e-mail, and of its payment."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from deliveries.models import Delivery
from invoices.models import Invoice
from invoices.pages.formats import Formats, Moment

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
    match delivery.status:
        case _Status.SENT:
            return _sent(delivery, formats)
        case _Status.DEAD:
            return _dead(delivery, formats)
        case _Status.CANCELLED:
            return _cancelled(delivery, formats)
        case _Status.RETRYING:
            return _retrying(delivery, formats)
        case _Status.RUNNING:
            return _running(delivery, formats)
        case _:
            return EmailState(
                label=_("Sending"),
                tone="busy",
                icon="clock",
                moment=formats.clock(delivery.created_at),
                moment_label=_("waiting since"),
            )


def _without_delivery(invoice: Invoice) -> EmailState:
    if invoice.status == Invoice.Status.DRAFT:
        return EmailState(label=_("Not sent yet"), tone="quiet", icon="ring", final=True)
    # Imported as sent or paid: what another system did is nothing that we know.
    return EmailState(label=_("No e-mail from here"), tone="quiet", icon="dash", final=True)


def _running(delivery: Delivery, formats: Formats) -> EmailState:
    lost = delivery.locked_until is not None and delivery.locked_until < formats.now
    return EmailState(
        label=_("Sending"),
        tone="busy",
        icon="spinner",
        detail=_("Its worker has not reported back in time; another one takes over.") if lost else "",
    )


def _retrying(delivery: Delivery, formats: Formats) -> EmailState:
    assert delivery.next_attempt_at is not None  # A constraint of the table.
    due = delivery.next_attempt_at <= formats.now
    return EmailState(
        label=_("Retrying"),
        tone="wait",
        icon="retry",
        moment=None if due else formats.clock(delivery.next_attempt_at),
        moment_label=_("next try due now") if due else _("next try"),
        detail=delivery.last_error,
    )


def _sent(delivery: Delivery, formats: Formats) -> EmailState:
    assert delivery.sent_at is not None  # A constraint of the table.
    return EmailState(
        label=_("Sent"), tone="good", icon="check", final=True, moment=formats.moment(delivery.sent_at)
    )


def _dead(delivery: Delivery, formats: Formats) -> EmailState:
    moment = formats.moment(delivery.finished_at) if delivery.finished_at else None
    if may_have_arrived(delivery):
        return EmailState(
            label=_("We do not know"),
            tone="wait",
            icon="question",
            final=True,
            moment=moment,
            moment_label=_("given up"),
            detail=_(
                "The customer may or may not have it: %(error)s Support must look at the "
                "provider’s log before it is sent again."
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


def may_have_arrived(delivery: Delivery) -> bool:
    """Tell whether a delivery that was given up may have reached the customer all the same.

    Whatever the dead reason: given up after a timeout, the provider may well have accepted it.
    """
    return delivery.dead_reason == _Reason.OUTCOME_UNKNOWN or delivery.handed_over_at is not None


def _why_dead(delivery: Delivery) -> str:
    if delivery.dead_reason == _Reason.CRASHED:
        return _("It %(what)s. Support has to look at it.") % {
            "what": delivery.last_error.rstrip(".")
        }
    return _sentence(delivery.last_error)


def _cancelled(delivery: Delivery, formats: Formats) -> EmailState:
    return EmailState(
        label=_("Cancelled"),
        tone="quiet",
        icon="slash",
        final=True,
        moment=formats.moment(delivery.finished_at) if delivery.finished_at else None,
        detail=_sentence(delivery.last_error),
    )


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
    """Say "12 days overdue", or of a draft that its customer would get it too late."""
    days = overdue_days(invoice, formats)
    if not days:
        return ""
    if invoice.status == Invoice.Status.DRAFT:
        text = ngettext("%(days)s day past due", "%(days)s days past due", days)
    else:
        text = ngettext("%(days)s day overdue", "%(days)s days overdue", days)
    return text % {"days": days}
