"""Customers: who sees and changes them, what may be entered, and two people at once."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Lower
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from deliveries.models import DeliveryEvent
from invoices import customers
from invoices.models import Customer, Invoice, Organization
from tests import factories

FIELDS = {
    "name": "Mama Put Kitchen",
    "email": "accounts@mamaput.example",
    "address": "12 Market Road",
    "tax_id": "",
    "language": "",
}


@pytest.fixture
def as_owner(client: Client, owner: User) -> Client:
    client.force_login(owner)
    return client


@pytest.fixture
def customer(invoice: Invoice) -> Customer:
    return invoice.customer


def text(response: Any) -> str:
    assert response.status_code == 200
    content: str = response.content.decode()
    return content


def seen(client: Client, customer: Customer) -> str:
    found = re.search(r'name="seen" value="([^"]+)"', text(client.get(page_of(customer))))
    assert found is not None
    return found[1]


def page_of(customer: Customer) -> str:
    return f"/customers/{customer.pk}"


def save(client: Client, customer: Customer, **values: object) -> Any:
    form = FIELDS | {"seen": seen(client, customer)} | values
    return client.post(page_of(customer), form)


# The list -------------------------------------------------------------------------------------


def test_the_list_tells_how_many_invoices_and_what_is_open(
    as_owner: Client, organization: Organization, customer: Customer
) -> None:
    for number, status in (("A", "sent"), ("B", "sent"), ("C", "paid"), ("D", "void")):
        Invoice.objects.create(
            organization=organization,
            customer=customer,
            number=number,
            currency="NGN",
            amount_minor=1_000_00,
            issued_on="2026-03-02",
            due_on="2026-03-16",
            status=status,
        )
    page = text(as_owner.get("/customers"))
    assert "5 invoices" in page
    assert "₦2,000.00" in page


@pytest.mark.parametrize("term", ["mama", "KITCH put", "accounts@mama", "ACCOUNTS"])
def test_customers_are_found_by_words_of_the_name_or_how_the_address_begins(
    as_owner: Client, organization: Organization, customer: Customer, term: str
) -> None:
    factories.make_invoice(organization, customer_name="Grace Hotel", email="f@grace.example")
    page = text(as_owner.get("/customers", {"q": term}))
    assert "Mama Put Kitchen" in page
    assert "Grace Hotel" not in page


@pytest.mark.parametrize("term", ["'", "|", "&", ":*", "\\", "-", "%", "_", "mama & !put", "🙂"])
def test_odd_search_terms_find_nobody(as_owner: Client, customer: Customer, term: str) -> None:
    page = text(as_owner.get("/customers", {"q": term}))
    assert ("Mama Put" in page) is (term == "mama & !put")


def test_pages_follow_each_other_by_name(as_owner: Client, organization: Organization) -> None:
    names = [f"Customer {number:03}" for number in range(120)]
    Customer.objects.bulk_create(
        Customer(organization=organization, name=name) for name in reversed(names)
    )
    found, address = [], "/customers"
    while address:
        page = text(as_owner.get(address))
        found += re.findall(r"<bdi>(Customer \d+)</bdi>", page)
        follows = re.search(r'rel="next" href="([^"]+)"', page)
        address = f"/customers{follows[1].replace('&amp;', '&')}" if follows else ""
    assert found == names


@pytest.mark.parametrize("after", ["x", "-1", "9" * 30, "0"])
def test_a_page_that_is_none_is_the_first(as_owner: Client, customer: Customer, after: str) -> None:
    assert "Mama Put" in text(as_owner.get("/customers", {"after": after}))


def test_customers_of_one_name_are_not_lost_between_pages(organization: Organization) -> None:
    Customer.objects.bulk_create(
        Customer(organization=organization, name="Twin") for _ in range(70)
    )
    first = customers.find(organization)
    second = customers.find(organization, after=first.next)
    assert len({customer.pk for customer in (*first.customers, *second.customers)}) == 70


def test_a_longer_list_takes_no_more_queries(
    as_owner: Client, organization: Organization, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for total in (1, 12):
        while Customer.objects.count() < total:
            factories.make_invoice(organization, status="sent")
        # Session, user, membership; customers, what they owe, mailboxes; the header.
        with django_assert_num_queries(7):
            as_owner.get("/customers")


def test_the_list_of_a_large_organization_stands_on_its_index(organization: Organization) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO invoices_customer (organization_id, name, email, address, tax_id,"
            " language, reminders_paused) SELECT %s, 'Customer ' || n, '', '', '', '', false"
            " FROM generate_series(1, 5000) n",
            [organization.pk],
        )
        cursor.execute("ANALYZE invoices_customer")
    last = Customer.objects.get(name="Customer 2500")
    page = Customer.objects.filter(organization=organization, removed_at__isnull=True)
    found = customers._following(
        page.annotate(name_lower=Lower("name")).order_by("name_lower", "pk"),
        organization,
        last.pk,
    )
    assert "customer_list" in found[:51].explain()


# Who ------------------------------------------------------------------------------------------


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


# Adding and changing --------------------------------------------------------------------------


def test_a_customer_is_added(as_owner: Client, organization: Organization) -> None:
    answer = as_owner.post("/customers/new", FIELDS | {"language": "fr"})
    made = organization.customers.get()
    assert answer.headers["Location"] == page_of(made)
    assert (made.name, made.email, made.language) == (FIELDS["name"], FIELDS["email"], "fr")


def test_a_form_that_is_posted_twice_adds_one(as_owner: Client) -> None:
    answers = [as_owner.post("/customers/new", FIELDS) for _ in range(2)]
    made = Customer.objects.get()
    assert {answer.headers["Location"] for answer in answers} == {page_of(made)}


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("accounts.mamaput.example", "An address needs an @"),
        ("orders@@palmwine.example", "An address has only one @."),
        ("a b@palmwine.example", "Remove the spaces"),
        ("a@b.example, c@d.example", "Enter one address only"),
        ("Ada <a@b.example>", "Enter one address only"),
        ("jörg@firma.example", "The part before the @ may only have Latin letters"),
        ("ſale@firma.example", "The part before the @ may only have Latin letters"),
        ("a@localhost", "is not an e-mail address such as"),
        ("@b.example", "is not an e-mail address such as"),
        ("a@", "is not an e-mail address such as"),
        ("a@b..example", "is not an e-mail address such as"),
        ("a@b.example\r\nBcc: z@z.example", "must not contain line breaks"),
        ("x" * 250 + "@b.example", "at most 254 characters"),
    ],
)
def test_an_address_that_cannot_work_is_refused_with_a_sentence(
    as_owner: Client, address: str, says: str
) -> None:
    page = text(as_owner.post("/customers/new", FIELDS | {"email": address}))
    assert says in page
    assert not Customer.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        "buchhaltung@müller.example",
        "a@رسائل.example",
        "o'brien+bills@a-b.co.example",
        "",
    ],
)
def test_an_address_that_works_is_taken(as_owner: Client, address: str) -> None:
    assert as_owner.post("/customers/new", FIELDS | {"email": address}).status_code == 302
    assert Customer.objects.get().email == address


@pytest.mark.parametrize(
    "name",
    ["x" * 240, 'Sol, Inc "Ventas" (BR)', "مطعم الياسمين", "👩‍👩‍👧 Cakes", "O'Brien & <b>Sons</b>"],
)
def test_names_that_people_have_are_taken_and_shown_as_text(as_owner: Client, name: str) -> None:
    answer = as_owner.post("/customers/new", FIELDS | {"name": name}, follow=True)
    assert Customer.objects.get().name == name
    assert "<b>Sons" not in text(answer)


@pytest.mark.parametrize(
    "name", ["", "   ", "a\nBcc: b", "a\x07", "a\u202eb", "x" * 241, "a\u2028b"]
)
def test_names_that_nobody_has_are_refused(as_owner: Client, name: str) -> None:
    assert 'class="errorlist"' in text(as_owner.post("/customers/new", FIELDS | {"name": name}))
    assert not Customer.objects.exists()


def test_an_imported_bad_address_is_shown_with_its_problem_and_may_stay(
    as_owner: Client, customer: Customer
) -> None:
    Customer.objects.update(email="orders@@palmwine.example")
    for address in ("/customers", page_of(customer)):
        assert "An address has only one @." in text(as_owner.get(address))
    saved = save(as_owner, customer, email="orders@@palmwine.example", tax_id="TIN 1")
    assert saved.status_code == 302
    customer.refresh_from_db()
    assert customer.tax_id == "TIN 1"


def test_a_correction_is_told_in_the_timelines_it_matters_to(
    as_owner: Client, owner: User, invoice: Invoice, customer: Customer
) -> None:
    delivery = factories.make_delivery(invoice)
    save(as_owner, customer, email="finance@mamaput.example", tax_id="TIN 1")
    event = delivery.events.get(type=DeliveryEvent.Type.CORRECTED)
    assert (
        event.sentence
        == "The customer's e-mail address and tax id were corrected: now finance@mamaput.example."
    )
    assert event.actor == owner


def test_saving_what_nobody_changed_changes_and_tells_nothing(
    as_owner: Client, invoice: Invoice, customer: Customer
) -> None:
    Customer.objects.update(address="12 Market Road\nLagos")
    delivery = factories.make_delivery(invoice)
    answer = save(as_owner, customer, address="12 Market Road\r\nLagos")
    assert answer.status_code == 302
    assert not delivery.events.filter(type=DeliveryEvent.Type.CORRECTED).exists()


# Two at once ----------------------------------------------------------------------------------


def test_the_second_of_two_who_change_the_same_is_told_and_loses_nothing(
    as_owner: Client, customer: Customer
) -> None:
    shown = seen(as_owner, customer)
    Customer.objects.update(email="finance@mamaput.example")
    page = text(as_owner.post(page_of(customer), FIELDS | {"seen": shown, "email": "ap@x.example"}))
    assert "Somebody else has changed this meanwhile" in page
    assert "There is now: “finance@mamaput.example”" in page
    assert 'value="ap@x.example"' in page
    customer.refresh_from_db()
    assert customer.email == "finance@mamaput.example"
    again = re.search(r'name="seen" value="([^"]+)"', page)
    assert again is not None
    as_owner.post(page_of(customer), FIELDS | {"seen": again[1], "email": "ap@x.example"})
    customer.refresh_from_db()
    assert customer.email == "ap@x.example"


def test_a_form_without_what_was_seen_overwrites_nothing(
    as_owner: Client, customer: Customer
) -> None:
    page = text(as_owner.post(page_of(customer), FIELDS | {"name": "Other"}))
    assert "Somebody else has changed this meanwhile" in page


# Removing -------------------------------------------------------------------------------------


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


# One address, two customers -----------------------------------------------------------------------


def test_an_address_that_another_customer_has_is_asked_about_first(
    client: Client, owner: User, organization: Organization
) -> None:
    client.force_login(owner)
    known = Customer.objects.create(
        organization=organization, name="Mama Put Kitchen", email="ada@mamaput.example"
    )
    form = {"name": "Mama Put Catering", "email": "Ada@mamaput.example"}
    asked = client.post("/customers/new", form).content.decode()
    assert "There is Mama Put Kitchen with this address." in asked
    assert f'href="/customers/{known.pk}"' in asked
    assert "Save all the same" in asked
    assert 'name="shared" value="Ada@mamaput.example"' in asked
    assert Customer.objects.count() == 1
    other = {"name": "Bo", "email": "ada@mamaput.example", "shared": "x@y.example"}
    assert "There is Mama Put Kitchen" in client.post("/customers/new", other).content.decode()
    made = client.post("/customers/new", form | {"shared": "Ada@mamaput.example"})
    assert made.status_code == 302
    assert Customer.objects.count() == 2


def test_a_new_invoice_begins_at_the_customers_page(
    client: Client, owner: User, organization: Organization
) -> None:
    client.force_login(owner)
    invoice = factories.make_invoice(organization)
    page = client.get(f"/customers/{invoice.customer_id}").content.decode()
    address = f"/invoices/new?customer={invoice.customer_id}"
    assert f'href="{address}"' in page
    chosen = f'<option value="{invoice.customer_id}" selected>'
    assert chosen in client.get(address).content.decode()
    assert client.get("/invoices/new?customer=9999999999999999999").status_code == 200
    detail = client.get(f"/invoices/{invoice.pk}").content.decode()
    assert f'href="/customers/{invoice.customer_id}">Mama Put Kitchen</a>' in detail
