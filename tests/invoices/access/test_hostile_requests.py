"""What nobody asks by accident: NUL characters, odd addresses to come back to, odd recipients."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries import kinds, ledger
from deliveries.errors import NotSendable
from deliveries.models import Delivery
from invoices.models import Customer, Invoice
from tests import factories


@pytest.mark.parametrize("address", ["/invoices?page=%00", "/reminders?date=%00"])
def test_a_nul_character_in_a_query_is_a_bad_request(as_owner: Client, address: str) -> None:
    assert as_owner.get(address).status_code == 400


def test_a_nul_character_in_a_form_is_a_bad_request(as_owner: Client) -> None:
    assert as_owner.post("/organization", {"organization": "a\0b"}).status_code == 400


@pytest.mark.parametrize("address", ["/login", "/admin/login/"])
def test_a_form_that_ends_early_is_a_bad_request(db: None, address: str) -> None:
    class Broken:
        def read(self, *_: object) -> bytes:
            raise TimeoutError

        readline = read

    form = "application/x-www-form-urlencoded"
    broken: dict[str, Any] = {"wsgi.input": Broken()}
    client = Client(raise_request_exception=False)
    assert client.generic("POST", address, b"a=b", form, **broken).status_code == 400


@pytest.mark.parametrize("page", ["/login", "/invoices/5/send#x", "/invoices/5/send?x=1"])
def test_somebody_logged_in_is_never_led_to_an_address_that_is_no_page(
    as_owner: Client, page: str
) -> None:
    answer = as_owner.get("/login", {"next": page})
    assert answer.status_code == 302
    assert answer.headers["Location"] in {"/", "/invoices/5"}


@pytest.mark.parametrize(
    "address",
    [
        "a@b.example, c@d.example",
        "a@b.example;c@d.example",
        "a@b.example\r\nBcc: z@z.example",
        '"A" <a@b.example>',
    ],
)
def test_what_is_not_one_address_is_never_handed_over(invoice: Invoice, address: str) -> None:
    Customer.objects.filter(pk=invoice.customer_id).update(email=address)
    with pytest.raises(NotSendable, match="not one address"):
        kinds.get("invoice").compose(factories.make_delivery(invoice))


def test_after_a_cancelled_delivery_a_click_is_a_new_promise(
    as_owner: Client, owner: User, invoice: Invoice
) -> None:
    first = factories.make_delivery(invoice, now=None)
    ledger.cancel(first.pk, actor_id=owner.pk, why="The customer was removed.")
    page = f"/invoices/{invoice.pk}/send"
    one, other = (as_owner.post(page, headers={"Accept": "*/*"}) for _ in range(2))
    assert one.status_code == other.status_code == 202
    assert one.json() == other.json()
    second = Delivery.objects.get(pk=one.json()["deliveryId"])
    assert (second.status, second.dedupe_key) == ("queued", f"invoice:{invoice.pk}:again:1")
    assert Delivery.objects.count() == 2
    invoice.refresh_from_db()
    assert (invoice.status, invoice.failure_reason) == ("sending", "")


def test_a_dead_delivery_is_not_sent_again_by_a_click(as_owner: Client, invoice: Invoice) -> None:
    factories.make_delivery(invoice, now=None)
    [claim] = ledger.claim(
        "email", worker="w", capacity=1, lease=timedelta(minutes=1), max_claims=3
    )
    Delivery.objects.filter(pk=claim.delivery_id).update(
        status="dead",
        dead_reason="rejected",
        last_error="no such address",
        locked_by=None,
        locked_until=None,
        finished_at=factories.NOW,
    )
    Invoice.objects.update(status="failed", failure_reason="no such address")
    answer = as_owner.post(f"/invoices/{invoice.pk}/send", headers={"Accept": "*/*"})
    assert answer.json() == {"deliveryId": claim.delivery_id, "status": "dead"}
    assert Delivery.objects.count() == 1
