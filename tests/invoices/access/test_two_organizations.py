"""People in several organizations: what another tab has chosen loses them nothing."""

import html
import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries.models import Delivery
from invoices.models import Customer, Invoice, Member, Organization
from tests import factories
from tests.invoices.drafts.form import RICE, edited, shown, typed
from tests.reading import text

pytestmark = pytest.mark.thorough


@pytest.fixture
def elsewhere(owner: User) -> Organization:
    """A second organization of the owner's, in which the other tab works."""
    second = factories.make_organization("island-supplies", name="Island Supplies Ltd")
    Member.objects.create(organization=second, user=owner, role="owner")
    return second


@pytest.fixture
def browser(owner: User) -> Client:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(owner)
    return client


def switch(client: Client, organization: Organization, **values: str) -> Any:
    return client.post("/organization", {"organization": organization.slug, **values})


@pytest.mark.parametrize("page", ["/invoices/{0.pk}", "/customers/{0.customer_id}?next=/x"])
def test_a_page_of_ones_other_organization_offers_to_switch_and_leads_there(
    browser: Client,
    invoice: Invoice,
    elsewhere: Organization,
    organization: Organization,
    page: str,
) -> None:
    address = page.format(invoice)
    switch(browser, elsewhere)
    found = text(browser.get(address), 404)
    assert "This belongs to Mainland Supplies Ltd" in found
    assert shown(found, "next") == address
    switched = switch(browser, organization, next=address)
    assert (switched.status_code, switched.headers["Location"]) == (302, address)
    assert browser.get(address).status_code == 200


@pytest.mark.parametrize("elsewhere_", ["https://evil.example/", "//evil.example", ""])
def test_switching_leads_to_no_other_site(
    browser: Client, organization: Organization, elsewhere_: str
) -> None:
    assert switch(browser, organization, next=elsewhere_).headers["Location"] == "/invoices"


def test_outsiders_are_offered_nothing(outsider: User, invoice: Invoice) -> None:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(outsider)
    page = client.get(f"/invoices/{invoice.pk}")
    assert page.status_code == 404
    assert "Mainland" not in page.content.decode()
    form = {"in_organization": "mainland-supplies", "name": "Mine", "seen": "x"}
    assert client.post(f"/customers/{invoice.customer_id}", form).status_code == 404
    assert client.post("/customers/new", form).status_code == 404
    assert not Customer.objects.filter(name="Mine").exists()


def test_programs_and_fragments_get_a_plain_404(
    browser: Client, invoice: Invoice, elsewhere: Organization
) -> None:
    switch(browser, elsewhere)
    address = f"/invoices/{invoice.pk}/state"
    for headers in ({"HX-Request": "true"}, {"Accept": "application/json"}):
        page = browser.get(address, headers=headers)
        assert page.status_code == 404
        assert "This belongs" not in page.content.decode()


def test_a_form_goes_on_in_the_organization_it_was_made_in(
    browser: Client, invoice: Invoice, elsewhere: Organization
) -> None:
    page = text(browser.get(f"/invoices/{invoice.pk}/edit"))
    form = edited(browser, invoice, notes="Kept", in_organization=shown(page, "in_organization"))
    switch(browser, elsewhere)
    saved = browser.post(f"/invoices/{invoice.pk}/edit", form, follow=True)
    assert "INV-0001 is saved." in text(saved)
    assert Invoice.objects.get().notes == "Kept"


def test_a_new_invoice_is_made_where_its_form_was(
    browser: Client, organization: Organization, elsewhere: Organization
) -> None:
    form = typed(RICE, new_name="Sol", in_organization=organization.slug)
    switch(browser, elsewhere)
    browser.post("/invoices/new", form)
    assert Invoice.objects.get().organization == organization


def test_the_right_that_counts_is_that_of_the_forms_organization(
    browser: Client, invoice: Invoice, elsewhere: Organization, owner: User
) -> None:
    form = edited(browser, invoice, notes="No", in_organization=invoice.organization.slug)
    Member.objects.filter(organization=invoice.organization, user=owner).update(role="viewer")
    switch(browser, elsewhere)
    assert browser.post(f"/invoices/{invoice.pk}/edit", form).status_code == 403
    assert Invoice.objects.get().notes == ""


def test_typing_in_one_tab_does_not_switch_the_other(
    browser: Client, organization: Organization, elsewhere: Organization
) -> None:
    switch(browser, elsewhere)
    form = typed(RICE, in_organization=organization.slug)
    browser.post("/invoices/totals", form, headers={"HX-Request": "true"})
    assert "Island Supplies Ltd" in text(browser.get("/invoices"))
    assert browser.session["organization"] == elsewhere.pk


# What is clicked without a form page of its own -------------------------------------------------


def clicked(client: Client, page: str, action: str, *, while_in: Organization) -> Any:
    """Open the page, switch in another tab, then post the form that leads to `action`."""
    found = text(client.get(page))
    [form] = re.findall(rf'<form[^>]* action="{action}".*?</form>', found, re.DOTALL)
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
    switch(client, while_in)
    return client.post(action, fields)


@pytest.mark.parametrize("page", ["/invoices", "/invoices/{0.pk}"])
def test_send_sends_though_another_tab_has_switched(
    browser: Client, invoice: Invoice, elsewhere: Organization, page: str
) -> None:
    action = f"/invoices/{invoice.pk}/send"
    answer = clicked(browser, page.format(invoice), action, while_in=elsewhere)
    assert answer.status_code in {302, 303}
    assert Delivery.objects.get().invoice == invoice
    assert "INV-0001" in text(browser.get(answer.headers["Location"]))


@pytest.mark.parametrize("act", ["reminders/pause", "customer/reminders/pause"])
def test_reminders_are_paused_though_another_tab_has_switched(
    browser: Client, invoice: Invoice, elsewhere: Organization, act: str
) -> None:
    Invoice.objects.filter(pk=invoice.pk).update(status="sent")
    page = f"/invoices/{invoice.pk}"
    assert clicked(browser, page, f"{page}/{act}", while_in=elsewhere).status_code in {302, 303}
    invoice.refresh_from_db()
    assert invoice.reminders_paused or invoice.customer.reminders_paused


def test_what_htmx_asks_for_is_the_pages_own_whatever_another_tab_has_chosen(
    browser: Client, invoice: Invoice, elsewhere: Organization
) -> None:
    page = text(browser.get("/invoices"))
    [named] = re.findall(r"<body hx-headers='([^']+)'>", page)
    switch(browser, elsewhere)
    headers = {"HX-Request": "true", **json.loads(html.unescape(named))}
    assert browser.get(f"/invoices/{invoice.pk}/state?part=row", headers=headers).status_code == 200
    sent = browser.post(f"/invoices/{invoice.pk}/send?part=row", headers=headers)
    assert (sent.status_code, Delivery.objects.get().invoice) == (202, invoice)
    assert browser.session["organization"] == elsewhere.pk


def test_naming_an_organization_lets_no_outsider_in(
    outsider: User, organization: Organization, invoice: Invoice
) -> None:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(outsider)
    named = {"HX-Request": "true", "X-Organization": organization.slug}
    form = {"in_organization": organization.slug}
    assert client.get(f"/invoices/{invoice.pk}/state", headers=named).status_code == 404
    for headers in (named, {}):
        assert client.post(f"/invoices/{invoice.pk}/send", form, headers=headers).status_code == 404
    assert not Delivery.objects.exists()
