"""What can be done about an invoice as it stands, by this member."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from deliveries.ledger import Case
from deliveries.models import Delivery
from invoices import payments, voiding
from invoices.models import Invoice, Member
from invoices.pages.formats import Formats
from invoices.pages.refusals import Warned, warnings_of
from invoices.problems import Kind, Place, Problem, problems_of
from invoices.resending import Retry, corrected_since, may_be_sent_again, retry_of
from invoices.sending import holds_fast


@dataclass(frozen=True, kw_only=True)
class Actions:
    """Which buttons there are; a viewer has none but the PDF's."""

    edit: bool
    send_again: bool
    # It was sent by other means: what is called "again" elsewhere is the first e-mail from here.
    first_email: bool
    # A dead e-mail may be put back; and be corrected before that.
    retry: bool
    correct: bool
    # What is wrong is wrong with the customer; and what is put back is another e-mail by now.
    correct_customer: bool
    corrected: bool
    mark_paid: bool
    mark_unpaid: bool
    void: bool
    pdf: bool


@dataclass(frozen=True, kw_only=True)
class ToMend:
    """A problem, and where it is put right; `said` where the e-mail's state says it already."""

    sentence: str
    place: Place
    said: bool


@dataclass(frozen=True, kw_only=True)
class RetryPage:
    """What putting the dead e-mail back would do, in words."""

    explanation: str
    # What has to be ticked, if anything.
    tick: str
    takes_corrections: bool
    correct_customer: bool
    died_at: str
    # What is known against its recipients.
    warnings: tuple[Warned, ...]


def actions_of(
    invoice: Invoice, delivery: Delivery | None, retry: Retry | None, *, member: Member
) -> Actions:
    may = member.may_send
    correct = may and retry is not None and retry.takes_corrections and invoice.is_correctable
    return Actions(
        edit=may and invoice.is_correctable and not holds_fast(delivery),
        send_again=may and may_be_sent_again(invoice, delivery),
        first_email=delivery is None,
        retry=may and retry is not None,
        correct=correct,
        correct_customer=correct and wrong_with_the_customer(invoice),
        corrected=correct and retry is not None and corrected_since(retry),
        mark_paid=may and invoice.status in payments.PAYABLE,
        mark_unpaid=may and invoice.status == Invoice.Status.PAID,
        void=may and invoice.status in voiding.VOIDABLE,
        pdf=invoice.amount_minor is not None,
    )


def wrong_with_the_customer(invoice: Invoice) -> bool:
    """Whether what stands in the way is put right on the customer's page alone."""
    places = {problem.place for problem in problems_of(invoice) if problem.kind != Kind.NO_NAME}
    return places == {Place.CUSTOMER}


def to_mend(invoice: Invoice, *, said: str, warned: Sequence[Warned]) -> tuple[ToMend, ...]:
    """Return the problems of an invoice that may still be corrected, each with its place.

    `warned` is what is to be said of its recipients, where a send can be started.
    """
    problems = problems_of(invoice) if invoice.is_correctable else []
    return (*(_to_mend(problem, said) for problem in problems), *map(_recipient, warned))


def _recipient(warned: Warned) -> ToMend:
    place = Place.CUSTOMER if warned.own else Place.INVOICE
    return ToMend(sentence=warned.sentence, place=place, said=False)


def _to_mend(problem: Problem, said: str) -> ToMend:
    return ToMend(sentence=problem.sentence, place=problem.place, said=problem.sentence in said)


def retry_page(
    invoice: Invoice, delivery: Delivery | None, *, formats: Formats
) -> RetryPage | None:
    """Return what the pages say of a retry; None where there is nothing to retry. Two queries."""
    retry = retry_of(invoice, delivery)
    if retry is None:
        return None
    unknown = retry.case is Case.UNKNOWN
    return RetryPage(
        explanation=_explanation(retry, formats),
        tick=_("I have checked that the customer does not have it.") if unknown else "",
        takes_corrections=retry.takes_corrections,
        correct_customer=retry.takes_corrections and wrong_with_the_customer(invoice),
        died_at=retry.died_at.isoformat(),
        warnings=warnings_of(invoice, formats),
    )


def _explanation(retry: Retry, formats: Formats) -> str:
    match retry.case:
        case Case.ANEW:
            return _(
                "The customer does not have it: it was not accepted. The e-mail is made anew, from "
                "the invoice as it is by then."
            )
        case Case.SAME:
            until = formats.clock(retry.until).text if retry.until else ""
            return _(
                "The provider may have accepted it. Until %(until)s the same e-mail can go again, "
                "exactly as it was: if the customer has it already, no second one is sent. What is "
                "corrected now cannot be in it before %(until)s."
            ) % {"until": until}
        case Case.UNKNOWN:
            return _(
                "Nobody knows whether the customer has it, and the provider can no longer tell. "
                "Ask the customer, or let support look at the provider’s log. The e-mail is made "
                "anew, from the invoice as it is by then: who has the first one gets a second."
            )
