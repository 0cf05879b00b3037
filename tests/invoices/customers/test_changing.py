"""A customer is added and changed, by one or two people."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries.models import DeliveryEvent
from invoices.models import Customer, Invoice, Organization
from tests import factories
from tests.invoices.customers.reading import FIELDS, page_of, save, seen
from tests.reading import text


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
