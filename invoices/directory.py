"""Invoices as support looks them up, over all organizations."""

from collections.abc import Collection

from django.db.models import Prefetch, QuerySet
from django.urls import reverse

from deliveries.directory import Entry, Remark
from deliveries.models import NOBODY_KNOWS, Delivery
from invoices import searching
from invoices.models import Customer, Invoice, InvoiceEvent
from invoices.problems import problems_of
from invoices.sending import KIND
from invoices.validation import is_known_zone

# So many customers of one name are looked through; who means one of more says more of the name.
MOST_CUSTOMERS = 50
MOST_REMARKS = 200


class InvoiceDirectory:
    def find(self, term: str, *, limit: int, addresses: bool = True) -> list[int]:
        """Return invoices by number, its beginning, its end, or by customer; newest first."""
        term = term.strip().strip("<>").strip()
        if not term:
            return []
        invoices = searching.with_number(Invoice.objects.all()).order_by("-id")
        for found in (
            invoices.filter(searching.number_is(term)),
            invoices.filter(searching.number_begins(term)),
            searching.with_reversed_number(invoices).filter(searching.number_ends(term)),
            Invoice.objects.filter(customer__in=_customers(term, addresses)).order_by("-id"),
        ):
            ids = list(found.values_list("pk", flat=True)[:limit])
            if ids:
                return ids
        return []

    def entries(self, invoice_ids: Collection[int]) -> dict[int, Entry]:
        """Return entries, with links into the admin; three queries."""
        events = InvoiceEvent.objects.select_related("actor")
        invoices = (
            Invoice.objects.filter(pk__in=invoice_ids)
            .select_related("customer", "organization")
            .prefetch_related("lines", Prefetch("events", queryset=events))
        )
        unknown = _unknown([each for each in invoices if each.status == Invoice.Status.FAILED])
        return {invoice.pk: _entry(invoice, invoice.pk in unknown) for invoice in invoices}


def _unknown(invoices: list[Invoice]) -> set[int]:
    """Return those of the failed invoices whose customers may have them all the same."""
    last = Delivery.objects.latest_of_each(invoices, kind=KIND) if invoices else []
    return {each.invoice_id for each in last if each.in_words == NOBODY_KNOWS}


def _customers(term: str, addresses: bool) -> list[int]:
    customers = searching.customers()
    by_address = customers.filter(searching.address_begins(term))
    return (addresses and _ids(by_address)) or _ids(customers.filter(searching.words_begin(term)))


def _ids(customers: QuerySet[Customer]) -> list[int]:
    return list(customers.order_by("-id").values_list("pk", flat=True)[:MOST_CUSTOMERS])


def _entry(invoice: Invoice, unknown: bool) -> Entry:
    customer, organization = invoice.customer, invoice.organization
    zone = organization.time_zone
    return Entry(
        invoice_id=invoice.pk,
        number=invoice.number,
        state=NOBODY_KNOWS if unknown else invoice.get_status_display(),
        organization=organization.name,
        time_zone=zone if is_known_zone(zone) else "UTC",
        customer=customer.name,
        address=customer.email,
        remarks=tuple(_remark(event) for event in [*invoice.events.all()][-MOST_REMARKS:]),
        problems=tuple(problem.sentence for problem in problems_of(invoice)),
        invoice_url=reverse("admin:invoices_invoice_change", args=[invoice.pk]),
        customer_url=reverse("admin:invoices_customer_change", args=[customer.pk]),
    )


def _remark(event: InvoiceEvent) -> Remark:
    who = event.actor.get_full_name() or event.actor.get_username() if event.actor else ""
    return Remark(at=event.at, who=who or "the system", sentence=event.sentence)
