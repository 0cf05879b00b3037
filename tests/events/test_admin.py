"""Support sees what the provider told, also of what we do not know; and changes nothing of it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from deliveries.models import Delivery, ProviderEvent
from tests.events.provider import payload, post
from tests.ledger.steps import UNKNOWN, claim_one, hand_over, settle
from tests.support.conftest import make_staff

pytestmark = pytest.mark.thorough

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


def test_an_event_that_moves_nothing_leads_to_its_delivery(support: Client, sent: Delivery) -> None:
    post(payload("opened"))
    address = f"{DELIVERIES}{sent.pk}/change/"
    assert address in page(support, EVENTS)
    one = page(support, f"{EVENTS}{ProviderEvent.objects.get().pk}/change/")
    assert address in one
    assert "2026-03-02 10:00:00 UTC" in one


def test_an_event_that_tells_nothing_new_says_so(support: Client, sent: Delivery) -> None:
    post(payload("delivered"))
    post(payload("delivered"))
    for address in (EVENTS, f"{DELIVERIES}{sent.pk}/change/"):
        assert "tells nothing new" in page(support, address).lower()
    assert "email.delivered" in page(support, f"{EVENTS}?state=outranked")


def test_an_event_that_names_no_message_waits_for_none(support: Client) -> None:
    post(payload("delivered", message_id=""))
    # As an older version has kept it.
    ProviderEvent.objects.create(
        event_id="old", type="email.bounced", outcome="bounced", happened_at=timezone.now()
    )
    shown = page(support, EVENTS)
    assert shown.count("Names no e-mail") == 2
    assert ProviderEvent.objects.get(event_id="old").state == "waiting"
    assert ProviderEvent.objects.exclude(event_id="old").get().state == "no_effect"


def test_the_menu_leads_to_events_whoever_may_see_them(support: Client) -> None:
    assert f'<a href="{EVENTS}">Provider events</a>' in page(support, DELIVERIES)
    support.force_login(make_staff("Operations"))
    assert f'<a href="{EVENTS}">' not in page(support, DELIVERIES)
