"""The list of invoices."""

import re

from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from deliveries.models import WorkerPresence
from invoices.models import Invoice, Organization
from tests import factories
from tests.reading import text


def test_the_list_shows_each_invoice_with_amount_customer_and_a_send_button(
    as_owner: Client, invoice: Invoice
) -> None:
    page = text(as_owner.get("/invoices"))
    for part in ("INV-0001", "Mama Put Kitchen", "accounts@mamaput.example", "₦45,000.00"):
        assert part in page
    assert f'action="/invoices/{invoice.pk}/send"' in page
    assert "Not sent yet" in page


def test_problems_stand_beside_the_button_before_the_click(
    as_owner: Client, organization: Organization
) -> None:
    factories.make_invoice(organization, amount_minor=None, email="orders@@palmwine.example")
    page = text(as_owner.get("/invoices"))
    assert "The invoice has no amount: enter its lines." in page
    assert "“orders@@palmwine.example” does not look like an e-mail address" in page
    assert "No amount" in page


def test_a_viewer_sees_no_button(client: Client, viewer: User, invoice: Invoice) -> None:
    client.force_login(viewer)
    for address in ("/invoices", f"/invoices/{invoice.pk}"):
        page = text(client.get(address))
        assert "INV-0001" in page
        assert "/send" not in page


def test_an_outsider_sees_nothing_of_it(client: Client, outsider: User, invoice: Invoice) -> None:
    client.force_login(outsider)
    assert "INV-0001" not in text(client.get("/invoices"))
    for part in ("", "/state", "/pdf"):
        assert client.get(f"/invoices/{invoice.pk}{part}").status_code == 404


def test_strangers_are_led_to_the_login(client: Client, invoice: Invoice) -> None:
    for part in ("", "/state", "/pdf"):
        address = f"/invoices/{invoice.pk}{part}"
        assert client.get(address).headers["Location"] == f"/login?next={address}"


def test_pages_are_only_read(as_owner: Client, invoice: Invoice) -> None:
    for part in ("", f"/{invoice.pk}", f"/{invoice.pk}/state", f"/{invoice.pk}/pdf"):
        assert as_owner.post(f"/invoices{part}").status_code == 405


def test_names_are_text_whatever_they_hold(as_owner: Client, organization: Organization) -> None:
    nasty = factories.make_invoice(organization, customer_name="<script>alert(1)</script>")
    for address in ("/invoices", f"/invoices/{nasty.pk}", f"/invoices/{nasty.pk}/state?part=row"):
        page = text(as_owner.get(address))
        assert "<script>alert" not in page
        if "state" not in address:
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_pages_hold_no_inline_script_or_style(as_owner: Client, invoice: Invoice) -> None:
    for address in ("/invoices", f"/invoices/{invoice.pk}"):
        page = text(as_owner.get(address))
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)


def test_an_empty_list_says_so(as_owner: Client) -> None:
    assert "No invoices yet" in text(as_owner.get("/invoices"))


def test_a_longer_list_takes_no_more_queries(
    as_owner: Client,
    organization: Organization,
    worker: WorkerPresence,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    # Session, user, membership; the page, its tabs' counts; deliveries, batches; what came back;
    # lane, workers; the header.
    queries = 12
    for total in (1, 12):
        while Invoice.objects.count() < total:
            factories.make_delivery(factories.make_invoice(organization))
        with django_assert_num_queries(queries):
            as_owner.get("/invoices")
