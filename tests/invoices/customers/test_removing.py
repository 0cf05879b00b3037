"""A customer is removed and restored, with all invoices."""

import re

from django.test import Client

from invoices.models import Customer, Invoice, Organization
from tests import factories
from tests.invoices.customers.reading import page_of
from tests.reading import text


def test_a_removed_customer_keeps_the_invoices_and_can_be_restored(
    as_owner: Client, invoice: Invoice, customer: Customer
) -> None:
    for _ in range(2):
        text(as_owner.post(f"{page_of(customer)}/remove", follow=True))
    assert "Mama Put" not in text(as_owner.get("/customers"))
    assert "Mama Put" in text(as_owner.get("/customers", {"show": "removed"}))
    page = text(as_owner.get(page_of(customer)))
    assert "INV-0001" in page
    assert "Removed " in page
    as_owner.post(f"{page_of(customer)}/restore")
    assert "Mama Put" in text(as_owner.get("/customers"))


def test_what_waits_for_a_removed_customer_is_no_longer_wanted(
    as_owner: Client, invoice: Invoice, customer: Customer
) -> None:
    from deliveries import kinds

    delivery = factories.make_delivery(invoice)
    as_owner.post(f"{page_of(customer)}/remove")
    assert "was removed" in kinds.get("invoice").still_wanted(delivery)


def test_the_newest_twenty_invoices_stand_on_the_page(
    as_owner: Client, organization: Organization, customer: Customer
) -> None:
    for number in range(25):
        Invoice.objects.create(
            organization=organization,
            customer=customer,
            number=f"N-{number:02}",
            currency="NGN",
            issued_on="2026-03-02",
            due_on="2026-03-16",
        )
    page = text(as_owner.get(page_of(customer)))
    assert page.count("N-") == 20
    assert "26 invoices" in page


def test_pages_hold_no_inline_script_or_style(as_owner: Client, customer: Customer) -> None:
    for address in ("/customers", "/customers/new", page_of(customer)):
        page = text(as_owner.get(address))
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
