"""What changes by itself while an e-mail is under way."""

from datetime import timedelta

from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from deliveries.models import Delivery, WorkerPresence
from deliveries.outcomes import Sent
from invoices.models import Invoice
from tests import factories
from tests.invoices.pages.reading import HTMX, seen
from tests.ledger import steps
from tests.reading import text


def test_what_is_under_way_is_asked_for_and_answered_only_when_it_changed(
    as_owner: Client, invoice: Invoice, worker: WorkerPresence
) -> None:
    delivery = factories.make_delivery(invoice)
    for address in ("/invoices", f"/invoices/{invoice.pk}"):
        assert as_owner.get(seen(text(as_owner.get(address))), headers=HTMX).status_code == 204
    poll = seen(text(as_owner.get("/invoices")))
    steps.settle(steps.claim_one(), Sent(provider_message_id="msg-1"))
    answer = as_owner.get(poll, headers=HTMX)
    # The counts above the list follow its rows.
    assert answer.headers["HX-Trigger-After-Swap"] == "counted"
    fragment = text(answer)
    assert "Sent" in fragment
    assert "every 2s" not in fragment
    assert f"INV-0001: Sent {delivery_time(delivery)}" in fragment


def delivery_time(delivery: Delivery) -> str:
    delivery.refresh_from_db()
    assert delivery.sent_at is not None
    local = delivery.sent_at + timedelta(hours=1)  # Lagos.
    year = "" if local.year == timezone.now().year else f" {local.year}"
    return f"{local.day} {local:%b}{year}, {local:%H:%M}"


def test_what_is_final_is_not_asked_for(as_owner: Client, delivery: Delivery) -> None:
    steps.bring_to(delivery, "dead")
    for address in ("/invoices", f"/invoices/{delivery.invoice_id}"):
        page = text(as_owner.get(address))
        assert "The provider refused it (422): no such mailbox." in page
        assert "every 2s" not in page


def test_a_poll_costs_few_queries(
    as_owner: Client,
    delivery: Delivery,
    worker: WorkerPresence,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(8):
        as_owner.get(f"/invoices/{delivery.invoice_id}/state?part=row")


def test_a_poll_whose_session_ended_makes_the_page_reload(client: Client, invoice: Invoice) -> None:
    answer = client.get(f"/invoices/{invoice.pk}/state", headers=HTMX, follow=True)
    assert answer.headers["HX-Refresh"] == "true"
    assert answer.content == b""
