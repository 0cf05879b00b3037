"""The page of bounces: open ones and settled ones, each sort by itself, page by page."""

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from deliveries.models import Delivery
from deliveries.outcomes import Sent
from tests import factories
from tests.events.provider import payload, post
from tests.events.test_pages import Page, exported
from tests.ledger.steps import SENT, claim_one, hand_over, settle

pytestmark = pytest.mark.thorough


def send_once_more(delivery: Delivery) -> Delivery:
    """Send the invoice again, as msg-42."""
    later = factories.make_delivery(delivery.invoice, key="again")
    claim = claim_one()
    hand_over(claim)
    settle(claim, Sent(provider_message_id="msg-42"))
    return later


def test_what_was_sent_again_and_delivered_is_settled(
    client: Client, page: Page, bounced: Delivery
) -> None:
    send_once_more(bounced)
    assert "INV-0001" in page("/bounces?show=open")
    post(payload("delivered", message_id="msg-42", at="2026-03-03T10:00:00Z"))
    assert "Sent again, delivered on 3 Mar" in page("/bounces")
    settled = page("/bounces?show=settled")
    assert "Sent again" in settled
    assert "then send it again" not in settled
    assert "None of these" in page("/bounces?show=open")
    assert exported(client)[1][-1] == "2026-03-03 10:00:00"
    assert len(exported(client, "?show=open")) == 1


@pytest.mark.parametrize(
    "what", ["bounced", "bounced_for_now", "suppressed", "failed", "complained"]
)
def test_the_list_and_its_export_show_one_sort(
    client: Client, page: Page, sent: Delivery, what: str
) -> None:
    post(payload(what))
    assert "INV-0001" in page(f"/bounces?what={what}")
    assert len(exported(client, f"?what={what}")) == 2
    other = "failed" if what != "failed" else "bounced"
    assert "None of these" in page(f"/bounces?what={other}")
    assert len(exported(client, f"?what={other}")) == 1


def test_the_export_follows_what_is_chosen(page: Page, bounced: Delivery) -> None:
    shown = page("/bounces?show=open&what=bounced")
    assert 'href="/bounces/export?show=open&amp;what=bounced"' in shown


@pytest.mark.parametrize(
    "query",
    ["show=x", "what=x", "before=x_1", "before=2026-03-02T10:00_1", "before=" + "9" * 90],
)
def test_nonsense_in_the_address_is_not_there(page: Page, bounced: Delivery, query: str) -> None:
    assert "INV-0001" in page(f"/bounces?{query}")


def test_who_complained_has_it(page: Page, sent: Delivery) -> None:
    post(payload("complained"))
    shown = page("/bounces")
    assert "1 reported as spam" in shown
    assert "came back</p>" not in shown
    assert "came back</a>" not in page("/invoices")


def test_the_pages_of_bounces_are_turned(page: Page, bounced: Delivery) -> None:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    for number in range(52):
        other = factories.make_delivery(bounced.invoice, key=f"other-{number}")
        Delivery.objects.filter(pk=other.pk).update(
            status="sent",
            provider_message_id=f"other-{number}",
            sent_at=moment,
            finished_at=moment,
            after_sending="bounced",
            after_sending_at=moment,
        )
    first = page("/bounces")
    assert first.count('scope="row"') == 50
    [following] = re.findall(r'rel="next" href="([^"]*)"', first)
    assert page(f"/bounces{following}").count('scope="row"') == 3


def test_the_list_of_invoices_leads_to_what_came_back(page: Page, bounced: Delivery) -> None:
    shown = page("/invoices")
    assert 'href="/bounces?show=open"' in shown
    assert "1 e-mail came back</a>" in shown
    send_once_more(bounced)
    post(payload("delivered", message_id="msg-42", at="2026-03-03T10:00:00Z"))
    assert "came back</a>" not in page("/invoices")


@pytest.mark.parametrize(("provider", "hint"), [("smtp", True), ("sandbox", False)])
def test_without_events_the_page_says_where_bounces_go(
    page: Page, delivery: Delivery, settings: Settings, provider: str, hint: bool
) -> None:
    settings.EMAIL_PROVIDER = provider
    settings.EMAIL_FROM = "Invoices <invoices@hub.example>"
    assert ("go to the mailbox of invoices@hub.example" in page("/bounces")) is hint


def test_of_several_recipients_all_are_shown_or_the_one_to_blame(
    client: Client, page: Page, delivery: Delivery
) -> None:
    claim = claim_one()
    hand_over(claim, factories.make_message(to=["a@x.example"], cc=["b@x.example"]))
    settle(claim, SENT)
    post(payload("bounced", to=["a@x.example", "b@x.example"]))
    assert "a@x.example, b@x.example" in page("/bounces")
    assert exported(client)[1][3] == "a@x.example, b@x.example"
    bounce = {"type": "Permanent", "message": "550 5.1.1 <b@x.example> unknown"}
    post(payload("bounced", to=["a@x.example", "b@x.example"], bounce=bounce))
    assert "a@x.example" not in page("/bounces")
    assert exported(client)[1][3] == "b@x.example"
