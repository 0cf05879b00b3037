"""The list of customers."""

import re

import pytest
from django.db import connection
from django.db.models.functions import Lower
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from invoices import customers
from invoices.models import Customer, Invoice, Organization
from tests import factories
from tests.reading import text


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
