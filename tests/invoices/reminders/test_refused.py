"""Reminders to addresses that refuse e-mail: not recorded, not sent, and said so."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from freezegun import freeze_time

from deliveries.models import Delivery, Mailbox
from invoices import overdue as debts
from invoices.emails import ReminderEmail
from invoices.models import Invoice, Organization
from tests import factories
from tests.invoices.reminders.pages.reading import of_page, send_one
from tests.invoices.reminders.runs import DAY, MONDAY, command, make_overdue, run
from tests.reading import text

ADDRESS = "accounts@mamaput.example"


def refuse(organization: Organization, address: str = ADDRESS, **values: Any) -> Mailbox:
    defaults: dict[str, Any] = {
        "came_back_at": datetime(2026, 3, 1, 10, tzinfo=UTC),
        "came_back_as": "bounced",
        "came_back_reason": "the mailbox does not exist",
    }
    return Mailbox.objects.create(organization=organization, address=address, **(defaults | values))


@pytest.fixture
def overdue(organization: Organization) -> Invoice:
    return make_overdue(organization)


@pytest.mark.parametrize("outcome", ["bounced", "suppressed", "complained"])
def test_an_address_that_refuses_gets_no_reminder(overdue: Invoice, outcome: str) -> None:
    refuse(overdue.organization, came_back_as=outcome)
    assert run() == 0
    assert debts.preview(overdue.organization, MONDAY).invoice_ids == []


def test_one_that_took_an_email_since_gets_its_reminder(overdue: Invoice) -> None:
    refuse(overdue.organization, arrived_at=datetime(2026, 3, 1, 11, tzinfo=UTC))
    assert run() == 1


def test_a_mailbox_of_another_organization_says_nothing(overdue: Invoice) -> None:
    refuse(factories.make_organization("nordlicht"))
    assert run() == 1


def test_what_one_of_its_recipients_takes_is_sent(overdue: Invoice) -> None:
    refuse(overdue.organization)
    Invoice.objects.update(cc=["boss@mamaput.example"])
    assert run() == 1
    refuse(overdue.organization, "boss@mamaput.example")
    assert run(MONDAY + DAY) == 0


def test_the_customers_address_does_not_matter_where_others_get_it(overdue: Invoice) -> None:
    refuse(overdue.organization)
    Invoice.objects.update(to=["Books@MamaPut.example"])
    assert run() == 1
    refuse(overdue.organization, "books@mamaput.example")
    assert run(MONDAY + DAY) == 0


def test_an_international_domain_is_known_as_it_goes_out(organization: Organization) -> None:
    make_overdue(organization, email="info@bücher.example")
    refuse(organization, "info@xn--bcher-kva.example")
    assert run() == 0


def test_a_run_asks_once_for_all_mailboxes(organization: Organization) -> None:
    for _ in range(5):
        make_overdue(organization)
    refuse(organization)
    with CaptureQueriesContext(connection) as queries:
        run()
    assert len([q for q in queries if "deliveries_mailbox" in q["sql"]]) == 1


def test_the_command_counts_them(overdue: Invoice) -> None:
    refuse(overdue.organization)
    make_overdue(overdue.organization, email="other@mamaput.example")
    with freeze_time("2026-03-02 08:00"):
        assert "1 invoices would get a reminder" in command("--dry-run")
        told = command()
    assert "1 reminders recorded for 2026-03-02" in told
    assert "1 skipped: every address of theirs refuses e-mail" in told


def test_one_recorded_before_the_bounce_is_not_sent(overdue: Invoice) -> None:
    run()
    refuse(overdue.organization)
    why = ReminderEmail().still_wanted(Delivery.objects.get())
    assert why == "Not sent: every address it would go to refuses e-mail."


@freeze_time("2026-03-06 09:00")
def test_the_card_says_why_there_is_no_next(as_owner: Client, overdue: Invoice) -> None:
    refuse(overdue.organization)
    card = of_page(as_owner, overdue)
    assert (
        "Next None E-mails to accounts@mamaput.example came back on 1 Mar: the mailbox "
        "does not exist. Correct it first." in card
    )


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("bounced", "Reminder: bounced for good"),
        ("bounced_for_now", "Reminder: bounced for now"),
        ("suppressed", "Reminder: suppressed"),
        ("complained", "Reminder: complained"),
        ("failed", "Reminder: not delivered"),
        ("delayed", "Reminder: delayed"),
        ("delivered", "Reminded"),
    ],
)
@freeze_time("2026-03-06 09:00")
def test_the_list_says_what_became_of_the_last(
    as_owner: Client, overdue: Invoice, outcome: str, said: str
) -> None:
    run()
    send_one()
    Delivery.objects.update(after_sending=outcome, after_sending_at=factories.NOW)
    assert said in text(as_owner.get("/invoices"))


@freeze_time("2026-03-06 09:00")
def test_the_days_groups_tell_bounced_ones_apart(as_owner: Client, overdue: Invoice) -> None:
    run()
    send_one()
    Delivery.objects.update(after_sending="bounced", after_sending_at=factories.NOW)
    day = text(as_owner.get("/reminders?date=2026-03-02"))
    assert "state=came_back" in day
    assert "state=sent" not in day
    assert "INV-" in text(as_owner.get("/reminders?date=2026-03-02&state=came_back"))
