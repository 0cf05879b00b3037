"""What a person is shown before many e-mails go out."""

import uuid
from dataclasses import dataclass

from invoices import bulk_sending
from invoices.choosing import Choice
from invoices.pages.batches import amount_of, skipped_words
from invoices.pages.formats import Formats

_FIRST_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class ChosenRow:
    invoice_id: int
    number: str
    customer: str
    amount: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """What a person sees before many e-mails go out."""

    once: str
    seal: str
    fields: tuple[tuple[str, str], ...]
    size: int
    ready: int
    skipped: tuple[str, ...]
    totals: tuple[str, ...]
    rows: tuple[ChosenRow, ...]
    more: int


def confirmation(choice: Choice, *, formats: Formats) -> Confirmation:
    forecast = bulk_sending.foresee(choice.ids, show=_FIRST_SHOWN)
    rows = tuple(
        ChosenRow(
            invoice_id=invoice.pk,
            number=invoice.number,
            customer=invoice.customer.name.strip() or invoice.customer.email.strip(),
            amount=amount_of(invoice, formats),
            reason=refusal.sentence if refusal else "",
        )
        for invoice, refusal in forecast.first
    )
    return Confirmation(
        once=str(uuid.uuid4()),
        seal=choice.seal,
        fields=choice.fields,
        size=forecast.size,
        ready=forecast.ready,
        skipped=tuple(skipped_words(why, n) for why, n in sorted(forecast.skipped.items())),
        totals=tuple(formats.amount(minor, code) for code, minor in forecast.totals.items()),
        rows=rows,
        more=forecast.size - len(rows),
    )
