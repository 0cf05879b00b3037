"""What is hot stays cheap beside any number of old rows: the plans of the statements that run."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from deliveries import ledger
from deliveries.models import Delivery
from invoices.models import Invoice, Organization
from tests import factories
from tests.ledger.steps import LEASE, SENT, at, claim

pytestmark = pytest.mark.thorough

_ROWS = """
    INSERT INTO deliveries_delivery
        (organization_id, invoice_id, kind, lane, reference, dedupe_key, idempotency_key, status,
         claims, attempts, lease_token, fair_tag, correlation_id, provider_message_id, last_error,
         dead_reason, created_at, locked_by, locked_until, next_attempt_at, sent_at, finished_at)
    SELECT %(organization)s, %(invoice)s + n %% %(invoices)s, 'invoice', 'email', 'INV',
           %(status)s || n, %(status)s || '-' || n, %(status)s, 0, 0, 0, random() * 1000,
           'req-' || n, CASE WHEN %(status)s = 'sent' THEN 'msg-' || n ELSE '' END, '', '',
           %(now)s - n * interval '1 minute',
           CASE WHEN %(status)s = 'running' THEN 'worker-9' END,
           CASE WHEN %(status)s = 'running' THEN %(now)s::timestamptz - interval '1 minute' END,
           CASE WHEN %(status)s = 'retrying' THEN %(now)s - n * interval '1 minute' END,
           CASE WHEN %(status)s = 'sent' THEN %(now)s END,
           CASE WHEN %(status)s = 'sent' THEN %(now)s END
    FROM generate_series(1, %(count)s) AS n
"""

# Every other of the sent ones is in the archive.
_ARCHIVE = """
    WITH moved AS (
        DELETE FROM ONLY deliveries_delivery WHERE status = 'sent' AND id % 2 = 0 RETURNING *
    )
    INSERT INTO deliveries_archiveddelivery SELECT * FROM moved;
    ANALYZE deliveries_archiveddelivery
"""


@pytest.fixture
def invoices(organization: Organization) -> list[Invoice]:
    """Hundreds of invoices with thousands of old deliveries, and some of each state that is hot."""
    factories.make_delivery(factories.make_invoice(organization))
    first, *_ = made = [
        Invoice(
            organization=organization,
            customer=organization.customers.get(),
            number=f"OLD-{number}",
            currency="NGN",
            issued_on=at().date(),
            due_on=at().date(),
        )
        for number in range(400)
    ]
    Invoice.objects.bulk_create(made)
    with connection.cursor() as cursor:
        for status, count in {"sent": 8000, "queued": 500, "retrying": 300, "running": 3}.items():
            values = {"organization": organization.pk, "invoice": first.pk, "invoices": len(made)}
            cursor.execute(_ROWS, values | {"status": status, "count": count, "now": at()})
        cursor.execute(_ARCHIVE)
        cursor.execute("ANALYZE deliveries_delivery, deliveries_flow, deliveries_lane")
    return made


Plan = dict[str, Any]


@contextmanager
def plans() -> Iterator[list[list[Plan]]]:
    """Gather the plan of every statement on deliveries that runs meanwhile, as its nodes."""
    gathered: list[list[Plan]] = []

    def explain(
        execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any
    ) -> Any:
        if "deliveries_delivery" in sql and "EXPLAIN" not in sql:
            execute(f"EXPLAIN (FORMAT JSON) {sql}", parameters, many, context)
            [[answer]] = context["cursor"].fetchall()
            found = json.loads(answer) if isinstance(answer, str) else answer
            gathered.append(list(_nodes(found[0]["Plan"])))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(explain):
        yield gathered


def _nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


def types(plan: list[Plan]) -> set[str]:
    """Return how rows are found; the lanes are a handful, and no index is quicker for those."""
    return {node["Node Type"] for node in plan if node.get("Relation Name") != "deliveries_lane"}


def indexes(plan: list[Plan]) -> set[str]:
    return {node["Index Name"] for node in plan if "Index Name" in node}


def the_one_with(found: list[list[Plan]], index: str) -> list[Plan]:
    [plan] = [plan for plan in found if index in indexes(plan)]
    return plan


def test_nothing_that_a_claim_does_reads_the_whole_table(invoices: list[Invoice]) -> None:
    with plans() as found:
        assert claim(capacity=20, now=at(1))
    assert len(found) >= 4
    assert "Seq Scan" not in set().union(*(types(plan) for plan in found))


def test_ready_rows_are_claimed_in_the_order_of_their_index(invoices: list[Invoice]) -> None:
    with plans() as found:
        claim(capacity=20, now=at(1))
    plan = the_one_with(found, "delivery_ready")
    assert "Sort" not in types(plan)
    assert indexes(plan) == {"delivery_ready", "deliveries_delivery_pkey"}


def test_running_rows_are_counted_by_their_index(invoices: list[Invoice]) -> None:
    with plans() as found:
        claim(capacity=20, now=at(1))
    # The count, the crashed and the expired.
    assert len([plan for plan in found if "delivery_running" in indexes(plan)]) == 3
    counting = found[0]
    assert "Aggregate" in types(counting)
    assert indexes(counting) == {"delivery_running"}


def test_due_retries_are_found_by_their_index(invoices: list[Invoice]) -> None:
    with plans() as found:
        assert ledger.wake_due("email", limit=20, now=at(1)) == 20
    [plan] = found
    assert indexes(plan) == {"delivery_due", "deliveries_delivery_pkey"}
    assert "Seq Scan" not in types(plan)


def test_the_lag_is_read_off_its_index(invoices: list[Invoice]) -> None:
    with plans() as found:
        assert ledger.lag("email", now=at(1))
    [plan] = found
    assert indexes(plan) == {"delivery_waiting_since"}
    assert "Limit" in types(plan)


def test_whether_anything_is_ready_is_read_off_its_index(invoices: list[Invoice]) -> None:
    with plans() as found:
        assert ledger.ready("email")
    assert "delivery_ready" in indexes(found[0])


def test_leases_are_renewed_and_settled_by_primary_key(invoices: list[Invoice]) -> None:
    held = claim(now=at(1))
    with plans() as found:
        ledger.extend(held, lease=LEASE, now=at(2))
        ledger.settle_batch([(each, SENT) for each in held], worker="worker-1", now=at(3))
    assert "Seq Scan" not in types(found[0]) | types(found[1])
    by_key = {"deliveries_delivery_pkey", "delivery_running"}
    assert all(indexes(plan) <= by_key for plan in found[:2])


def test_an_invoices_page_finds_its_deliveries_by_their_index(invoices: list[Invoice]) -> None:
    with plans() as found:
        assert list(Delivery.objects.about(invoices[0])[:20])
    [plan] = found
    assert indexes(plan) == {"delivery_by_invoice", "archived_by_invoice"}
    assert "Seq Scan" not in types(plan)


def test_a_page_of_invoices_finds_their_deliveries_by_the_same_index(
    invoices: list[Invoice],
) -> None:
    with plans() as found:
        assert list(Delivery.objects.latest_of_each(list(invoices[:5]), kind="invoice"))
    assert indexes(found[0]) == {"delivery_by_invoice", "archived_by_invoice"}


def test_what_workers_do_all_day_does_not_open_the_archive(invoices: list[Invoice]) -> None:
    with plans() as found:
        held = claim(now=at(1))
        ledger.extend(held, lease=LEASE, now=at(2))
        ledger.settle_batch([(each, SENT) for each in held], worker="worker-1", now=at(3))
        ledger.wake_due("email", now=at(4))
        ledger.lag("email", now=at(4))
    read = [{node.get("Relation Name") for node in plan} for plan in found]
    assert len(read) >= 8
    # But for the hooks, which read what was just settled through the model, by id.
    assert sum("deliveries_archiveddelivery" in each for each in read) <= 1


@pytest.mark.parametrize("status", ["queued", "running", "retrying", "dead"])
def test_whoever_asks_for_what_is_not_over_never_opens_the_archive(
    invoices: list[Invoice], status: str
) -> None:
    with plans() as found:
        list(Delivery.objects.filter(status=status).order_by("id")[:20])
    assert {node.get("Relation Name") for node in found[0]} <= {None, "deliveries_delivery"}


def test_a_known_intent_is_found_by_key_in_both(invoices: list[Invoice]) -> None:
    with plans() as found:
        assert Delivery.objects.filter(dedupe_key="sent10").exists()
    assert indexes(found[0]) == {"delivery_dedupe_key", "archived_dedupe_key"}
