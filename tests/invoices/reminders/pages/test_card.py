"""An invoice's card: the last reminder, the next, or why there is none."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from deliveries.outcomes import Outcome
from invoices.models import Customer, Invoice, Organization
from tests import factories
from tests.invoices.reminders.pages.reading import of_page, said, send_one
from tests.invoices.reminders.runs import DAY, MONDAY, make_overdue, run
from tests.ledger import steps
from tests.reading import text

pytestmark = pytest.mark.thorough


def test_the_card_tells_the_last_how_many_and_the_next_in_the_organizations_time(
    as_owner: Client, overdue: Invoice
) -> None:
    run(MONDAY)
    send_one()
    run(MONDAY + DAY)
    send_one(day=MONDAY + DAY)
    card = of_page(as_owner, overdue)
    assert "Last Sent 3 Mar, 09:10 So far 2 Next Monday 9 March, 09:00" in card
    assert "For 2 Mar Sent 2 Mar, 09:10" in card


def test_an_invoice_without_reminders_yet_says_when_the_first_comes(
    as_owner: Client, organization: Organization
) -> None:
    invoice = make_overdue(organization, due_on=date(2026, 3, 31))
    assert "Last None yet So far None Next Wednesday 1 April, 09:00" in of_page(as_owner, invoice)


@pytest.mark.parametrize("status", ["draft", "sending", "failed", "paid", "void"])
def test_an_invoice_that_has_none_and_gets_none_has_no_card(
    as_owner: Client, organization: Organization, status: str
) -> None:
    invoice = factories.make_invoice(organization, status=status, failure_reason="x")
    assert 'id="reminders"' not in text(as_owner.get(f"/invoices/{invoice.pk}"))


@pytest.mark.parametrize(
    ("table", "change", "why"),
    [
        (Invoice, {"reminders_paused": True}, "Paused for this invoice."),
        (Customer, {"reminders_paused": True}, "Paused for this customer."),
        (Customer, {"removed_at": factories.NOW}, "The customer was removed."),
        (Organization, {"reminders_enabled": False}, "Reminders are switched off."),
        (
            Organization,
            {"reminder_limit": 1},
            "It has had as many reminders as the settings allow.",
        ),
        (Invoice, {"status": "paid"}, "The invoice is paid."),
        (Invoice, {"status": "void"}, "The invoice is void."),
        (Invoice, {"sent_at": None}, "It is not known when the invoice was sent."),
    ],
)
def test_without_a_next_one_the_card_says_why(
    as_owner: Client, overdue: Invoice, table: Any, change: dict[str, object], why: str
) -> None:
    run(MONDAY)
    table.objects.update(**change)
    assert f"Next None {why}" in of_page(as_owner, overdue)


def test_all_that_stands_in_the_way_is_said_not_just_the_first(
    as_owner: Client, overdue: Invoice
) -> None:
    Invoice.objects.update(reminders_paused=True)
    Customer.objects.update(reminders_paused=True)
    assert "Paused for this invoice. Paused for this customer." in of_page(as_owner, overdue)


def test_what_counts_towards_the_limit_is_what_is_counted(
    as_owner: Client, overdue: Invoice
) -> None:
    Organization.objects.update(reminder_limit=5)
    outcomes: list[Outcome] = [steps.SENT, steps.REFUSED, steps.VOIDED]
    for offset, outcome in enumerate(outcomes):
        run(MONDAY + offset * DAY)
        send_one(outcome, day=MONDAY + offset * DAY)
    assert "So far 2 of at most 5, 1 of them sent" in of_page(as_owner, overdue)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (steps.SENT, "Sent 2 Mar, 09:10"),
        (steps.RETRY, "Retrying next try due now The provider answered 503"),
        (steps.REFUSED, "Not sent 2 Mar, 09:10 The provider refused it (422): no such mailbox."),
        (steps.UNKNOWN, "We do not know given up 2 Mar, 09:10 The customer may or may not have it"),
        (steps.VOIDED, "Cancelled 2 Mar, 09:10 Not sent: INV-0001 was voided."),
    ],
)
def test_a_reminders_state_is_told_in_words_with_the_reason(
    as_owner: Client, overdue: Invoice, outcome: Outcome, state: str
) -> None:
    run(MONDAY)
    send_one(outcome)
    assert f"Last {state}" in of_page(as_owner, overdue)


def test_a_reminder_is_recorded_before_it_is_sent(as_owner: Client, overdue: Invoice) -> None:
    run(MONDAY)
    assert "Last Recorded waiting since" in of_page(as_owner, overdue)
    steps.claim_one()
    assert "Last Sending" in of_page(as_owner, overdue)


def test_each_reminders_email_and_steps_can_be_read(as_owner: Client, overdue: Invoice) -> None:
    run(MONDAY)
    assert "It has not been composed" in of_page(as_owner, overdue)
    send_one(subject="Reminder: invoice INV-0001 is 29 days overdue")
    card = of_page(as_owner, overdue)
    for part in (
        "Sending was requested.",
        "The provider accepted it as msg-41.",
        "The e-mail as it was sent",
        "Subject Reminder: invoice INV-0001 is 29 days overdue",
    ):
        assert part in card


def test_only_the_latest_are_shown_in_full(as_owner: Client, overdue: Invoice) -> None:
    for offset in range(32):
        run(MONDAY + offset * DAY)
    card = of_page(as_owner, overdue)
    assert card.count(" For ") == 20
    assert "4 earlier reminders are not shown here." in card


def test_a_reminder_changes_nothing_of_what_is_said_of_the_invoices_own_email(
    as_owner: Client, organization: Organization
) -> None:
    invoice = factories.make_invoice(organization, due_on=date(2026, 2, 1))
    factories.make_delivery(invoice)
    steps.settle(steps.claim_one(), steps.SENT)
    Invoice.objects.update(sent_at=datetime(2026, 1, 5, tzinfo=UTC))
    run(MONDAY)
    send_one(steps.REFUSED)
    page = said(as_owner.get(f"/invoices/{invoice.pk}"))
    panel = page[page.index(" E-mail ") : page.index(" Customer ")]
    assert "E-mail Sent 2 Mar" in panel
    assert panel.count("Sending was requested.") == 1
    assert "refused" not in panel
    assert "refused" in page


def test_bad_data_hide_no_page(as_owner: Client, organization: Organization) -> None:
    forever = make_overdue(organization, due_on=date(9999, 12, 31))
    unknown = "The due date or the time zone is one that nobody can reckon with."
    assert unknown in of_page(as_owner, forever)
    lost = make_overdue(organization, number="LOST-1")
    Organization.objects.update(time_zone="Mars/Base")
    # No such zone is known: it counts as UTC.
    assert "Next Monday 9 March, 08:00" in of_page(as_owner, lost)
    assert "LOST-1" in said(as_owner.get("/reminders?date=2026-03-09"))


def test_a_longer_history_takes_no_more_queries(
    as_owner: Client, overdue: Invoice, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # Session, user, membership; invoice, lines; lane, workers, stranded; the panel's delivery and
    # events; the card's reminders, counts, events, messages; mailboxes, twice; the header.
    for offset in range(3):
        run(MONDAY + offset * DAY)
        send_one(day=MONDAY + offset * DAY)
        with django_assert_num_queries(19):
            as_owner.get(f"/invoices/{overdue.pk}")
