"""Who sees and changes customers."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from invoices.models import Customer
from tests.invoices.customers.reading import FIELDS, page_of
from tests.reading import text


def test_a_viewer_looks_and_changes_nothing(
    client: Client, viewer: User, customer: Customer
) -> None:
    client.force_login(viewer)
    assert "Mama Put Kitchen" in text(client.get("/customers"))
    assert '<form method="post" class' not in text(client.get(page_of(customer)))
    assert client.get("/customers/new").status_code == 403
    for address in ("", "/remove", "/restore"):
        assert client.post(f"{page_of(customer)}{address}", FIELDS).status_code == 403


def test_an_outsider_finds_nobody(client: Client, outsider: User, customer: Customer) -> None:
    client.force_login(outsider)
    assert "Mama Put" not in text(client.get("/customers", {"q": "mama"}))
    assert client.get(page_of(customer)).status_code == 404
    for address in ("", "/remove", "/restore"):
        assert client.post(f"{page_of(customer)}{address}", FIELDS).status_code == 404


def test_strangers_are_led_to_the_login(client: Client, customer: Customer) -> None:
    for address in ("/customers", "/customers/new", page_of(customer)):
        assert client.get(address).headers["Location"] == f"/login?next={address}"


def test_each_address_takes_its_methods_only(as_owner: Client, customer: Customer) -> None:
    assert as_owner.post("/customers").status_code == 405
    assert as_owner.delete("/customers/new").status_code == 405
    assert as_owner.put(page_of(customer)).status_code == 405
    for address in ("/remove", "/restore"):
        assert as_owner.get(f"{page_of(customer)}{address}").status_code == 405


@pytest.mark.parametrize("number", ["0", "9" * 30])
def test_a_number_that_is_nobodys_is_a_404(as_owner: Client, number: str) -> None:
    assert as_owner.get(f"/customers/{number}").status_code == 404
