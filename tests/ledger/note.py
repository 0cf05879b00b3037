"""A kind of delivery for tests of the ledger alone."""

from deliveries import ledger
from deliveries.models import Delivery, Message
from invoices.models import Invoice, Organization
from tests import factories


class Note:
    """It weighs as much as a reminder, and remembers what it is told."""

    lane = "email"

    def __init__(self, name: str = "note", *, weight: float = 1.0) -> None:
        self.name = name
        self.weight = weight
        self.settled: list[tuple[int, str]] = []
        self.replayed: list[int] = []

    def compose(self, delivery: Delivery) -> Message:
        return factories.make_message(subject=f"Note {delivery.reference}")

    def still_wanted(self, delivery: Delivery) -> str:
        return ""

    def on_settled(self, delivery: Delivery) -> None:
        self.settled.append((delivery.pk, delivery.status))

    def on_replayed(self, delivery: Delivery) -> None:
        self.replayed.append(delivery.pk)

    def request(self, invoice: Invoice, key: str) -> Delivery:
        return ledger.request(
            invoice,
            kind=self,
            dedupe_key=f"{self.name}:{key}",
            reference=invoice.number,
            now=factories.NOW,
        ).delivery

    def request_many(self, organization: Organization, count: int) -> list[Delivery]:
        invoice = factories.make_invoice(organization)
        return [self.request(invoice, f"{invoice.pk}-{number}") for number in range(count)]
