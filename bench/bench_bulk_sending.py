"""Ten thousand invoices sent by one click: how long its question, answer and page take.

make bench ARGS="-k bulk"
"""

import time
import uuid
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from deliveries.models import Delivery
from invoices import bulk_sending, forecasts
from invoices.models import Batch, Customer, Invoice, Organization
from invoices.pages import Formats, running_batch_of
from invoices.pages.batches import batch_page, items_of
from tests import factories

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

INVOICES = bulk_sending.LIMIT


def test_ten_thousand_invoices_are_promised_in_one_answer(transactional_db: None) -> None:
    organization = factories.make_organization()
    owner = factories.make_member(organization, "owner", "owner")
    _make_invoices(organization)
    ids = bulk_sending.chosen_ids(Invoice.objects.of(organization))
    question, _forecast = _timed(lambda: forecasts.foresee(ids))
    answer, batch = _timed(
        lambda: bulk_sending.send_many(
            ids, organization=organization, user_id=owner.pk, once=uuid.uuid4(), chosen="all"
        )
    )
    page, _page = _timed(lambda: _page_of(batch, organization))
    first = list(Invoice.objects.order_by("pk")[:50])
    notes, _notes = _timed(lambda: running_batch_of(first))
    assert Delivery.objects.count() == batch.queued == INVOICES
    print(
        f"\n{INVOICES:,} invoices: question {question:.2f} s, answer {answer:.2f} s, "
        f"page {page * 1000:.0f} ms, notes of 50 rows {notes * 1000:.0f} ms"
    )


def _timed(act: Callable[[], Any]) -> tuple[float, Any]:
    started = time.monotonic()
    result = act()
    return time.monotonic() - started, result


def _page_of(batch: Batch, organization: Organization) -> object:
    items = list(items_of(batch, None)[:50])
    return batch_page(batch, items, chosen=None, formats=Formats.of(organization))


def _make_invoices(organization: Organization) -> None:
    customers = Customer.objects.bulk_create(
        Customer(organization=organization, name=f"C{n}", email=f"c{n}@customer.example")
        for n in range(500)
    )
    Invoice.objects.bulk_create(
        (
            Invoice(
                organization=organization,
                customer=customers[n % 500],
                number=f"BULK-{n}",
                currency="NGN",
                amount_minor=100_000 + n,
                issued_on=date(2026, 3, 2),
                due_on=date(2026, 3, 16),
            )
            for n in range(INVOICES)
        ),
        batch_size=2_000,
    )
