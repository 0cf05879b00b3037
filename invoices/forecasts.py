"""What sending many would come to, told before the click: what goes out, what is skipped, and why.

The rules are those of `bulk_sending`, so that the question and the act cannot say two things.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from invoices import bulk_sending, mailboxes
from invoices.bulk_sending import Refusal
from invoices.models import BatchItem, Invoice
from invoices.problems import Kind, problems_of

EXAMPLES = 10


@dataclass(kw_only=True)
class Group:
    """Invoices of one reason: how many, and the first few, each with its own sentence."""

    count: int = 0
    examples: list[tuple[Invoice, str]] = field(default_factory=list)

    def add(self, invoice: Invoice, sentence: str) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append((invoice, sentence))


@dataclass(kw_only=True)
class Forecast:
    """What sending a choice would come to, as things stand."""

    ready: int = 0
    totals: Counter[str] = field(default_factory=Counter)
    # The first ones that go out.
    first: list[Invoice] = field(default_factory=list)
    # What is sent all the same, as the single Send button does; one invoice may stand in several.
    warned: dict[Kind, Group] = field(default_factory=dict)
    skipped: dict[BatchItem.Skipped | Kind, Group] = field(default_factory=dict)

    def skip(self, invoice: Invoice, refusal: Refusal) -> None:
        group = self.skipped.setdefault(refusal.kind or refusal.why, Group())
        group.add(invoice, refusal.sentence)

    def send(self, invoice: Invoice, warnings: dict[Kind, str]) -> None:
        self.ready += 1
        self.totals[invoice.currency] += invoice.amount_minor or 0
        if len(self.first) < EXAMPLES:
            self.first.append(invoice)
        for kind, sentence in warnings.items():
            self.warned.setdefault(kind, Group()).add(invoice, sentence)


def foresee(invoice_ids: Sequence[int]) -> Forecast:
    """Say what `bulk_sending.send_many` would do with them."""
    forecast = Forecast()
    for invoices in _chunks_of(invoice_ids):
        with_reason = bulk_sending.refusals(invoices)
        refusing = mailboxes.refusing(invoices)
        for invoice in invoices:
            if refusal := with_reason.get(invoice.pk):
                forecast.skip(invoice, refusal)
                continue
            warnings = {problem.kind: problem.sentence for problem in problems_of(invoice)}
            if invoice.pk in refusing:
                # The pages say why, in the organization's own way to write days.
                warnings[Kind.CAME_BACK] = ", ".join(each.address for each in refusing[invoice.pk])
            forecast.send(invoice, warnings)
    return forecast


def _chunks_of(invoice_ids: Sequence[int]) -> Iterator[list[Invoice]]:
    for start in range(0, len(invoice_ids), bulk_sending.CHUNK):
        ids = invoice_ids[start : start + bulk_sending.CHUNK]
        yield list(
            Invoice.objects.filter(pk__in=ids)
            .select_related("customer", "organization")
            .order_by("pk")
        )
