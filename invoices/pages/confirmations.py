"""What a person is shown before many e-mails go out."""

import uuid
from dataclasses import dataclass

from django.utils.translation import gettext as _

from invoices import forecasts
from invoices.choosing import Choice
from invoices.models import BatchItem, Invoice
from invoices.pages.batches import amount_of, skipped_words
from invoices.pages.formats import Formats
from invoices.pages.refusals import sentences, warnings
from invoices.problems import Kind


@dataclass(frozen=True, kw_only=True)
class ChosenRow:
    invoice_id: int
    number: str
    customer: str
    amount: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ChosenGroup:
    """Invoices that come to the same, in words with their number; the first of them as rows."""

    heading: str
    rows: tuple[ChosenRow, ...]
    more: int


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """What a person sees before many e-mails go out."""

    once: str
    seal: str
    fields: tuple[tuple[str, str], ...]
    size: int
    ready: int
    totals: tuple[str, ...]
    rows: tuple[ChosenRow, ...]
    more: int
    # Sent all the same; and left out.
    warned: tuple[ChosenGroup, ...]
    skipped: tuple[ChosenGroup, ...]


def confirmation(choice: Choice, *, formats: Formats) -> Confirmation:
    forecast = forecasts.foresee(choice.ids)
    return Confirmation(
        once=str(uuid.uuid4()),
        seal=choice.seal,
        fields=choice.fields,
        size=len(choice.ids),
        ready=forecast.ready,
        totals=tuple(
            formats.amount(minor, code) for code, minor in sorted(forecast.totals.items())
        ),
        rows=tuple(_row(invoice, "", formats) for invoice in forecast.first),
        more=forecast.ready - len(forecast.first),
        warned=tuple(_group(why, group, formats) for why, group in sorted(forecast.warned.items())),
        skipped=tuple(
            _group(why, group, formats) for why, group in sorted(forecast.skipped.items())
        ),
    )


def _group(why: BatchItem.Skipped | Kind, group: forecasts.Group, formats: Formats) -> ChosenGroup:
    if isinstance(why, Kind):
        heading = f"{formats.count(group.count)} {_problem_words(why)}"
    else:
        heading = skipped_words(why, group.count, formats)
    examples = group.examples
    if why is Kind.CAME_BACK:
        invoices = [invoice for invoice, _address in examples]
        warned = warnings(invoices, formats)
        examples = [(each, sentences(warned.get(each.pk, ()))) for each in invoices]
    return ChosenGroup(
        heading=heading,
        rows=tuple(_row(invoice, sentence, formats) for invoice, sentence in examples),
        more=group.count - len(group.examples),
    )


def _problem_words(kind: Kind) -> str:
    return {
        Kind.NO_AMOUNT: _("without an amount"),
        Kind.WRONG_SUM: _("whose amount is not what the lines come to"),
        Kind.NO_ADDRESS: _("whose customer has no e-mail address"),
        Kind.BAD_ADDRESS: _("with an address that does not look right"),
        Kind.NO_NAME: _("without a customer name: they will show none"),
        Kind.REMOVED: _("whose customer was removed"),
        Kind.CAME_BACK: _("to an address from which e-mails came back"),
    }[kind]


def _row(invoice: Invoice, reason: str, formats: Formats) -> ChosenRow:
    return ChosenRow(
        invoice_id=invoice.pk,
        number=invoice.number,
        customer=invoice.customer.name.strip() or invoice.customer.email.strip(),
        amount=amount_of(invoice, formats),
        reason=reason,
    )
