"""Reminders in the invoice list."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from deliveries.models import WorkerPresence
from deliveries.outcomes import Outcome
from invoices.models import Invoice, Organization
from tests.invoices.reminders.pages.reading import said, send_one
from tests.invoices.reminders.runs import DAY, MONDAY, make_overdue, run
from tests.ledger import steps


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (steps.SENT, "Reminded 2 Mar"),
        (steps.RETRY, "Reminder under way"),
        (steps.REFUSED, "Reminder not sent 2 Mar"),
        (steps.UNKNOWN, "Reminder: we do not know 2 Mar"),
    ],
)
def test_the_list_tells_the_last_reminder_of_what_is_overdue(
    as_owner: Client, overdue: Invoice, outcome: Outcome, told: str
) -> None:
    run(MONDAY)
    send_one(outcome)
    assert told in said(as_owner.get("/invoices"))
    Invoice.objects.update(status="paid")
    assert told not in said(as_owner.get("/invoices"))


def test_a_cancelled_reminder_does_not_hide_the_last_that_was_sent(
    as_owner: Client, overdue: Invoice
) -> None:
    run(MONDAY)
    send_one()
    run(MONDAY + DAY)
    send_one(steps.VOIDED, day=MONDAY + DAY)
    assert "Reminded 2 Mar" in said(as_owner.get("/invoices"))


def test_a_list_with_reminders_takes_one_query_more_however_long_it_is(
    as_owner: Client, organization: Organization, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    WorkerPresence.objects.create(
        name="worker-1", host="lagos-1", pid=1, version="0.1.0", threads=5
    )
    for total in (1, 12):
        while Invoice.objects.count() < total:
            make_overdue(organization)
        run(MONDAY + total * DAY)
        with django_assert_num_queries(14):
            as_owner.get("/invoices")
