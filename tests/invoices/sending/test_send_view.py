"""POST /invoices/<id>/send and GET /deliveries/<id>: what programs, forms and htmx rely on."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from deliveries.models import Delivery, DeliveryEvent
from invoices import tokens
from invoices.models import Invoice, Member, Organization
from tests import factories

HTML = {"accept": "text/html,application/xhtml+xml"}
HTMX = {"hx-request": "true"}


def send(client: Client, invoice: Invoice, data: dict[str, str] | None = None, **kind: Any) -> Any:
    query = kind.pop("query", "")
    return client.post(f"/invoices/{invoice.pk}/send{query}", data or {}, **kind)


def test_a_program_gets_202_with_the_deliverys_id_and_place(
    as_owner: Client, invoice: Invoice
) -> None:
    answer = send(as_owner, invoice)
    delivery = Delivery.objects.get()
    assert answer.status_code == 202
    assert answer.json() == {"deliveryId": delivery.pk, "status": "queued"}
    assert answer.headers["Location"] == f"/deliveries/{delivery.pk}"
    assert as_owner.get(answer.headers["Location"]).status_code == 200
    invoice.refresh_from_db()
    assert invoice.status == "sending"


def test_a_second_click_gets_the_same_answer_and_is_one_more_step(
    as_owner: Client, invoice: Invoice
) -> None:
    first, second = send(as_owner, invoice), send(as_owner, invoice)
    assert (second.status_code, second.json()) == (202, first.json())
    types = list(DeliveryEvent.objects.values_list("type", flat=True))
    assert types == ["requested", "requested_again"]


def test_the_delivery_carries_the_requests_id_and_the_person(
    as_owner: Client, owner: User, invoice: Invoice
) -> None:
    answer = send(as_owner, invoice, headers={"x-request-id": "req-41"})
    delivery = Delivery.objects.get()
    assert (delivery.correlation_id, delivery.requested_by) == ("req-41", owner)
    assert answer.headers["X-Request-ID"] == "req-41"


def test_an_invoice_without_an_amount_is_accepted_all_the_same(
    as_owner: Client, organization: Organization
) -> None:
    bare = factories.make_invoice(organization, amount_minor=None)
    assert send(as_owner, bare).status_code == 202


def test_a_bearer_token_sends_without_session_or_csrf_token(owner: User, invoice: Invoice) -> None:
    token = tokens.issue(Member.objects.get(user=owner), name="billing")
    client = Client(enforce_csrf_checks=True)
    answer = send(client, invoice, headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 202


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"from": "list"}, "/invoices#invoice-{id}"),
        (
            {"from": "list", "query": "sort=due&tab=draft&q=Mama+Put"},
            "/invoices?tab=draft&q=Mama+Put&sort=due#invoice-{id}",
        ),
        ({"from": "list", "query": "tab=nonsense#x&next=//evil.example"}, "/invoices#invoice-{id}"),
        ({"from": "list", "query": "a&" * 2000}, "/invoices#invoice-{id}"),
        ({}, "/invoices/{id}"),
    ],
)
def test_a_form_is_led_back_to_where_it_stood(
    as_owner: Client, invoice: Invoice, data: dict[str, str], place: str
) -> None:
    answer = send(as_owner, invoice, data, headers=HTML)
    assert answer.status_code == 302
    assert answer.headers["Location"] == place.format(id=invoice.pk)
    assert Delivery.objects.count() == 1


def test_htmx_gets_the_row_that_replaces_the_old_one_and_polls(
    as_owner: Client, invoice: Invoice
) -> None:
    answer = send(as_owner, invoice, query="?part=row", headers=HTMX)
    page = answer.content.decode()
    assert answer.status_code == 202
    assert page.lstrip().startswith(f'<tr id="invoice-{invoice.pk}"')
    assert 'hx-trigger="every 2s"' in page
    assert "Sending" in page
    assert "<button" not in page
    assert f'id="action-{invoice.pk}"' in page  # Where the focus goes on.
    # What was said before the click, "saved as a draft", is no longer so.
    assert 'id="messages" hx-swap-oob="innerHTML"' in page


def test_htmx_gets_the_panel_of_the_invoices_own_page(as_owner: Client, invoice: Invoice) -> None:
    answer = send(as_owner, invoice, headers=HTMX)
    page = answer.content.decode()
    assert answer.status_code == 202
    assert 'id="email"' in page
    assert "Sending was requested." in page
    assert '<div id="announcer" hx-swap-oob="innerHTML">INV-0001: Sending' in page


def test_another_organizations_invoice_is_not_there(
    client: Client, outsider: User, invoice: Invoice
) -> None:
    client.force_login(outsider)
    answer = send(client, invoice)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert send(client, invoice, headers=HTML).status_code == 404
    assert not Delivery.objects.exists()


def test_an_invoice_that_never_was_is_not_there(as_owner: Client) -> None:
    for number in ("1", "99999999999999999999999"):
        answer = as_owner.post(f"/invoices/{number}/send")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_viewer_may_not_send(client: Client, viewer: User, invoice: Invoice) -> None:
    client.force_login(viewer)
    answer = send(client, invoice)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    page = send(client, invoice, headers=HTML)
    assert page.status_code == 403
    assert "Viewers may look" in page.content.decode()
    assert not Delivery.objects.exists()


def test_a_strange_program_gets_401_and_a_strange_browser_the_login(
    client: Client, invoice: Invoice
) -> None:
    answer = send(client, invoice)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
    answer = send(client, invoice, headers=HTML)
    assert answer.headers["Location"] == f"/login?next=/invoices/{invoice.pk}/send"


@pytest.mark.parametrize("method", ["get", "put", "delete", "patch"])
def test_only_post_sends(as_owner: Client, invoice: Invoice, method: str) -> None:
    answer = getattr(as_owner, method)(f"/invoices/{invoice.pk}/send")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert answer.json()["error"]["code"] == "method_not_allowed"
    assert not Delivery.objects.exists()


def test_a_form_without_its_csrf_token_does_nothing(owner: User, invoice: Invoice) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    answer = send(client, invoice, headers=HTML)
    assert answer.status_code == 403
    assert "This page was too old" in answer.content.decode()
    assert not Delivery.objects.exists()


def test_a_program_with_a_session_but_no_csrf_token_is_told_in_json(
    owner: User, invoice: Invoice, settings: Settings
) -> None:
    settings.CSRF_FAILURE_VIEW = "invoicehub.failures.csrf_failed"
    client = Client(enforce_csrf_checks=True)
    answer = send(client, invoice)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
    client.force_login(owner)
    answer = send(client, invoice)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "csrf_failed")


def test_what_was_paid_elsewhere_is_not_sent_and_the_page_says_why(
    as_owner: Client, organization: Organization
) -> None:
    paid = factories.make_invoice(organization, number="INV-0077", status="paid")
    answer = send(as_owner, paid)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cannot_be_sent")
    reason = "INV-0077 is paid: there is nothing to send."
    page = as_owner.get(send(as_owner, paid, headers=HTML).headers["Location"])
    assert reason in page.content.decode()
    fragment = send(as_owner, paid, query="?part=row", headers=HTMX)
    assert (fragment.status_code, reason in fragment.content.decode()) == (200, True)


def test_a_deliverys_state_can_be_asked_for(as_owner: Client, delivery: Delivery) -> None:
    answer = as_owner.get(f"/deliveries/{delivery.pk}")
    assert json.loads(answer.content) == {
        "deliveryId": delivery.pk,
        "status": "queued",
        "attempts": 0,
        "nextAttemptAt": None,
        "error": None,
    }
    assert as_owner.post(f"/deliveries/{delivery.pk}").status_code == 405


def test_another_organizations_delivery_is_not_there(
    client: Client, outsider: User, delivery: Delivery
) -> None:
    assert client.get(f"/deliveries/{delivery.pk}").status_code == 401
    client.force_login(outsider)
    answer = client.get(f"/deliveries/{delivery.pk}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
