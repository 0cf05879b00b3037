"""Reports stay cheap beside thousands of old deliveries and of events that nobody claims."""

from typing import Any

import pytest
from django.db import connection

from deliveries import ledger, searching
from deliveries.models import Delivery
from invoices.bouncing import Filter, Show, counts, open_ones, page_of
from invoices.models import Invoice, Organization
from tests import factories
from tests.events.test_reports import told
from tests.ledger.steps import SENT, at, claim_one, settle
from tests.ledger.test_plans import _ARCHIVE, _ROWS, Plan, indexes, plans

pytestmark = pytest.mark.thorough

_EVENTS = """
    INSERT INTO deliveries_providerevent
        (event_id, type, outcome, provider_message_id, happened_at, reason, address, received_at,
         state, payload)
    SELECT 'old-' || n, 'email.bounced', 'bounced', 'foreign-' || n, %(now)s, '', '',
           %(now)s - n * interval '1 minute', 'waiting', '{}'
    FROM generate_series(1, 3000) AS n
"""


@pytest.fixture
def crowded(delivery: Delivery) -> Delivery:
    """A delivery that waits beside 8,000 sent ones, half of them archived, and foreign events."""
    values: dict[str, Any] = {
        "organization": delivery.organization_id,
        "invoice": delivery.invoice_id,
        "invoices": 1,
        "status": "sent",
        "count": 8000,
        "now": at(),
    }
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, values)
        cursor.execute(_EVENTS, {"now": at()})
        cursor.execute(
            "UPDATE deliveries_delivery SET after_sending = 'bounced', after_sending_at = sent_at "
            "WHERE status = 'sent' AND id % 100 < 2"
        )
        cursor.execute(_ARCHIVE)
        cursor.execute("ANALYZE deliveries_delivery, deliveries_providerevent")
    return delivery


def read_whole(found: list[list[Plan]]) -> set[str]:
    """Return the tables that these plans read from end to end; small ones always are."""
    return {
        node["Relation Name"] for plan in found for node in plan if node["Node Type"] == "Seq Scan"
    }


def test_settling_finds_waiting_reports_by_their_index(crowded: Delivery) -> None:
    claim = claim_one()
    with plans() as found:
        settle(claim, SENT, now=at(1))
    [plan] = [each for each in found if "provider_event_waiting" in indexes(each)]
    assert not read_whole([plan])


def test_a_report_finds_its_delivery_by_index(crowded: Delivery) -> None:
    with plans() as found:
        ledger.report(told("bounced", provider_message_id="msg-7", tag="sent-8"), now=at(2))
    assert any("delivery_by_provider_id" in indexes(plan) for plan in found)
    assert not read_whole(found) & {"deliveries_delivery", "deliveries_providerevent"}


def test_support_finds_whose_a_second_e_mail_is_by_index(crowded: Delivery) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_providerevent SET state = 'applied', delivery_id = %s",
            [crowded.pk],
        )
        cursor.execute("ANALYZE deliveries_providerevent")
    with plans() as found:
        assert list(searching.deliveries_meant("foreign-7")) == [crowded]
    last = found[-1]
    assert "provider_event_by_message" in indexes(last)
    assert not read_whole([last])


def test_the_sweep_reads_only_what_came_lately(crowded: Delivery) -> None:
    with plans() as found:
        assert ledger.follow_up_reports(now=at(1)) == 0
    assert "provider_event_lately" in indexes(found[0])
    assert "deliveries_providerevent" not in read_whole(found)


def test_what_came_back_is_listed_by_its_index(
    crowded: Delivery, organization: Organization
) -> None:
    with plans() as found:
        page = page_of(Filter(), organization, before="")
    assert "delivery_came_back" in indexes(found[0])
    assert len(page.deliveries) == 50


@pytest.fixture
def many_bounced(organization: Organization) -> None:
    """A thousand invoices with eight deliveries each, of which some came back."""
    first = factories.make_invoice(organization)
    shared: dict[str, Any] = {"organization": organization, "customer": first.customer}
    shared |= {"currency": "NGN", "issued_on": at().date(), "due_on": at().date()}
    made = [Invoice(number=f"OLD-{number}", **shared) for number in range(1000)]
    Invoice.objects.bulk_create(made)
    values = {"organization": organization.pk, "invoice": made[0].pk, "invoices": len(made)}
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, values | {"status": "sent", "count": 8000, "now": at()})
        cursor.execute(
            "UPDATE deliveries_delivery SET after_sending_at = sent_at, after_sending = "
            "CASE WHEN id % 21 = 0 THEN 'bounced' ELSE 'delivered' END"
        )
        cursor.execute("ANALYZE deliveries_delivery")


def test_what_is_open_is_listed_and_counted_by_indexes(
    many_bounced: None, organization: Organization
) -> None:
    with plans() as found:
        page = page_of(Filter(show=Show.OPEN), organization, before="")
        assert page_of(Filter(show=Show.SETTLED), organization, before=page.next).deliveries
        assert counts(Filter(show=Show.OPEN), organization).came_back
        assert open_ones(organization)
    assert "deliveries_delivery" not in read_whole(found)


def test_each_outcome_is_listed_by_its_index(crowded: Delivery) -> None:
    with plans() as found:
        assert list(Delivery.objects.filter(after_sending="bounced").order_by("-id")[:20])
    assert "delivery_by_report" in indexes(found[0])
