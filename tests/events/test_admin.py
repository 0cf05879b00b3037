"""Support sees what the provider told, also of what we do not know; and changes nothing of it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries.models import Delivery, ProviderEvent
from tests.events.provider import payload, post
from tests.ledger.steps import UNKNOWN, claim_one, hand_over, settle
from tests.support.conftest import make_staff

EVENTS = "/admin/deliveries/providerevent/"
DELIVERIES = "/admin/deliveries/delivery/"


@pytest.fixture
def support(client: Client, db: None) -> Client:
    client.force_login(make_staff("Support"))
    return client


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_deliverys_page_tells_what_was_reported(support: Client, sent: Delivery) -> None:
    post(payload("delivered"))
    post(payload("bounced"))
    shown = page(support, f"{DELIVERIES}{sent.pk}/change/")
    assert "Bounced: the mailbox does not exist." in shown
    assert "Have the customer&#x27;s address corrected" in shown
    assert "email.delivered" in shown


def test_a_report_of_a_delivery_of_unknown_outcome_stands_on_its_page(
    support: Client, delivery: Delivery
) -> None:
    claim = claim_one()
    hand_over(claim)
    settle(claim, UNKNOWN)
    post(payload("delivered", tags={"delivery": delivery.idempotency_key}))
    shown = page(support, f"{DELIVERIES}{delivery.pk}/change/")
    assert "waits for its delivery" in shown


@pytest.mark.parametrize(
    ("value", "found"), [("bounced", True), ("came_back", True), ("delivered", False), ("x", False)]
)
def test_deliveries_are_filtered_by_what_was_reported(
    support: Client, sent: Delivery, value: str, found: bool
) -> None:
    post(payload("bounced"))
    assert ("INV-0001" in page(support, f"{DELIVERIES}?after_sending={value}")) is found


def test_events_of_unknown_messages_and_types_are_listed(support: Client, db: None) -> None:
    post(payload("bounced", message_id="msg-of-somebody"), event_id="evt_stray")
    post({"type": "contact.created"}, event_id="evt_new")
    shown = page(support, EVENTS)
    assert "msg-of-somebody" in shown
    assert "contact.created" in shown
    assert "msg-of-somebody" in page(support, f"{EVENTS}?q=msg-of-somebody")
    assert "msg-of-somebody" in page(support, f"{EVENTS}?q=evt_stray")
    assert "msg-of-somebody" not in page(support, f"{EVENTS}?q=evt_new")
    assert "contact.created" not in page(support, f"{EVENTS}?state=waiting")


def test_an_event_is_found_by_its_deliverys_message_id(support: Client, sent: Delivery) -> None:
    post(payload("delivered"))
    assert "email.delivered" in page(support, f"{EVENTS}?q=msg-41")


def test_an_event_is_shown_whole_and_cannot_be_changed(support: Client, sent: Delivery) -> None:
    post(payload("bounced"))
    address = f"{EVENTS}{ProviderEvent.objects.get().pk}/change/"
    assert "subType" in page(support, address)
    assert support.post(address, {"type": "x"}).status_code == 403
    assert support.get(f"{EVENTS}add/").status_code == 403


@pytest.mark.parametrize(("role", "sees"), [("Auditor", True), ("Operations", False)])
def test_who_sees_events(client: Client, db: None, role: str, sees: bool) -> None:
    client.force_login(make_staff(role))
    assert client.get(EVENTS).status_code == (200 if sees else 403)


def test_finance_staff_do_not(client: Client, owner: User) -> None:
    client.force_login(owner)
    assert client.get(EVENTS).status_code == 302
