"""Sending an invoice's e-mail once more: a new intent, or the dead one put back by its own people.

*Again* is for a customer who lost it: a delivery of its own, asked for with a reason. *Retry* is
for an e-mail that was given up: the ledger's replay, which knows whether the customer may have it.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from deliveries import kinds, ledger
from deliveries.ledger import Case
from deliveries.models import Delivery, DeliveryEvent
from invoices import drafting
from invoices.draft import Draft, holds
from invoices.models import Invoice, Organization
from invoices.sending import (
    KIND,
    CannotBeSent,
    key_of,
    last_delivery,
    lock_last_delivery,
    times_requested,
)

logger = logging.getLogger(__name__)

MOST_REASON = 300
_HAS_LEFT = {Invoice.Status.SENT, Invoice.Status.PAID}


class MustBeConfirmed(Exception):
    """The customer may have it already: a person has to say that they have looked."""


@dataclass(frozen=True, kw_only=True)
class Retry:
    """What a retry of a dead delivery would do. `until` is given for `Case.SAME` alone."""

    delivery_id: int
    case: Case
    died_at: datetime
    until: datetime | None = None

    @property
    def takes_corrections(self) -> bool:
        """Whether what is corrected now can be in the e-mail that goes out."""
        return self.case is not Case.SAME


def may_be_sent_again(invoice: Invoice, last: Delivery | None) -> bool:
    """Whether a further e-mail is a question at all: it has left, and none is under way or dead.

    Or it was cancelled although the customer may have it: then it takes more than a click, too.
    """
    if last is None:
        return invoice.status in _HAS_LEFT
    if invoice.status == Invoice.Status.FAILED:
        return last.status == Delivery.Status.CANCELLED and last.may_have_arrived
    over = {Delivery.Status.SENT, Delivery.Status.CANCELLED}
    return invoice.status in _HAS_LEFT and last.status in over


def send_again(
    invoice_id: int, *, number: int, reason: str, organization: Organization, user_id: int
) -> Delivery:
    """Promise one more e-mail of an invoice that was sent; one transaction.

    `number` comes from the page that asked (see `times_requested`): a second click on it finds the
    first one's delivery. Raise `Invoice.DoesNotExist`, `CannotBeSent`.
    """
    with transaction.atomic():
        invoice = drafting.lock(invoice_id, organization)
        key = key_of(invoice.pk, earlier=number)
        if not Delivery.objects.filter(dedupe_key=key).exists():
            _insist_on_sendable_again(invoice, number)
            Invoice.objects.filter(pk=invoice.pk, status=Invoice.Status.FAILED).update(
                status=Invoice.Status.SENDING, failure_reason=""
            )
        return ledger.request(
            invoice,
            kind=kinds.get(KIND),
            dedupe_key=key,
            reference=invoice.number,
            requested_by=user_id,
            reason=_one_line(reason),
        ).delivery


def _insist_on_sendable_again(invoice: Invoice, number: int) -> None:
    last = last_delivery(invoice)
    if number != times_requested(invoice):
        raise CannotBeSent(
            _("%(number)s was sent again meanwhile: look at it anew.") % {"number": invoice.number}
        )
    if not may_be_sent_again(invoice, last):
        raise CannotBeSent(
            _("%(number)s cannot be sent again as it stands.") % {"number": invoice.number}
        )


def retry_of(invoice: Invoice, last: Delivery | None) -> Retry | None:
    """Return what a retry of the invoice's last e-mail would do; None where there is none."""
    if last is None or last.finished_at is None or last.status != Delivery.Status.DEAD:
        return None
    if invoice.status in {Invoice.Status.VOID, Invoice.Status.PAID}:
        return None
    [prospect] = ledger.prospects([last.pk], key_lifetime=ledger.key_lifetime())
    if prospect.case is None:
        return None
    return Retry(
        delivery_id=last.pk,
        case=prospect.case,
        died_at=last.finished_at,
        until=prospect.key_known_until,
    )


def retry(
    invoice_id: int,
    *,
    died_at: datetime,
    confirmed: bool,
    organization: Organization,
    user_id: int,
    reason: str = "",
) -> None:
    """Put the invoice's dead e-mail back; one transaction, or the caller's.

    `died_at` is the death that the person saw: what has been put back since is left alone, so that
    a double click is one. Raise `Invoice.DoesNotExist`, `CannotBeSent`, `MustBeConfirmed`.
    """
    with transaction.atomic():
        last = lock_last_delivery(invoice_id, organization)
        if last is None:
            raise CannotBeSent(_("No e-mail of this invoice was given up."))
        if last.status != Delivery.Status.DEAD or _differs(last.finished_at, died_at):
            return
        found = retry_of(drafting.lock(invoice_id, organization), last)
        if found is None:
            raise CannotBeSent(_("This invoice is paid or void: nothing is sent."))
        if found.case is Case.UNKNOWN and not confirmed:
            raise MustBeConfirmed(
                _("Tick that you have checked that the customer does not have it.")
            )
        ledger.replay(
            last.pk,
            actor_id=user_id,
            reason=_one_line(reason) or _("by somebody of the organization"),
            key_lifetime=ledger.key_lifetime(),
            confirmed=confirmed,
        )


def correct_and_retry(
    invoice_id: int,
    draft: Draft,
    *,
    version: str,
    died_at: datetime,
    confirmed: bool,
    organization: Organization,
    user_id: int,
) -> tuple[Invoice, bool]:
    """Store the correction and put the dead e-mail back, both or neither.

    Return the invoice, and whether anything was corrected at all.

    Raise what `drafting.change` and `retry` raise; `CannotBeSent` while the provider may have the
    message as it was, under a key that takes no other.
    """
    with transaction.atomic():
        # The delivery first: the ledger locks in this order, and so would support's replay.
        last = lock_last_delivery(invoice_id, organization)
        invoice = drafting.lock(invoice_id, organization)
        corrected = not holds(invoice, draft)
        if last and last.status != Delivery.Status.DEAD and not corrected:
            return invoice, False
        _insist_on_taking_corrections(retry_of(invoice, last))
        invoice = drafting.change(
            invoice_id,
            draft,
            organization=organization,
            version=version,
            user_id=user_id,
            composed_anew=True,
        )
        retry(
            invoice_id,
            died_at=died_at,
            confirmed=confirmed,
            organization=organization,
            user_id=user_id,
            reason=_("corrected") if corrected else "",
        )
        return invoice, corrected


def corrected_since(retry: Retry) -> bool:
    """Whether the invoice or its customer was corrected after the e-mail died; one query."""
    return DeliveryEvent.objects.filter(
        delivery=retry.delivery_id,
        type=DeliveryEvent.Type.CORRECTED,
        at__gte=retry.died_at,
    ).exists()


def _insist_on_taking_corrections(found: Retry | None) -> None:
    if found is not None and not found.takes_corrections:
        raise CannotBeSent(
            _("The same e-mail must go again as it was: what you correct cannot be in it yet.")
        )


def _differs(finished_at: datetime | None, died_at: datetime) -> bool:
    return finished_at is None or abs(finished_at - died_at) >= timedelta(milliseconds=1)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:MOST_REASON]
