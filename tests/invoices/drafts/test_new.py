"""An invoice is entered on a page."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client

from invoices import numbering
from invoices.models import Customer, Invoice, Organization
from tests import factories
from tests.invoices.drafts.form import HOUR, NEW, RICE, shown, typed
from tests.reading import text


def test_a_new_invoice_is_a_draft_whose_amount_its_lines_decide(
    as_owner: Client, customer: Customer
) -> None:
    form = typed(RICE, HOUR, customer=customer.pk, discount_rate="10", cc="boss@mamaput.example")
    answer = as_owner.post(NEW, form)
    invoice = Invoice.objects.get()
    assert answer.headers["Location"] == f"/invoices/{invoice.pk}"
    assert (invoice.number, invoice.status, invoice.customer) == ("INV-0041", "draft", customer)
    assert invoice.cc == ["boss@mamaput.example"]
    assert [line.net_minor for line in invoice.lines.all()] == [4_500_000, 833]
    # 45,000.00 - 10 % = 40,500.00 + 7.5 %; 8.33 - 0.83 = 7.50 + 5 % = 0.38
    assert invoice.amount_minor == 4_050_000 + 303_750 + 750 + 38


def test_two_taxes_of_a_line_are_typed_with_a_plus(as_owner: Client, customer: Customer) -> None:
    hours = [("Conseil", "0.333", "25.00", "5 + 9.975 %")] * 7
    as_owner.post(NEW, typed(*hours, customer=customer.pk))
    invoice = Invoice.objects.get()
    assert invoice.amount_minor == 6_705
    assert {(line.tax_rate, line.second_tax_rate) for line in invoice.lines.all()} == {
        (Decimal(5), Decimal("9.975"))
    }
    assert shown(text(as_owner.get(f"/invoices/{invoice.pk}/edit")), "lines-6-tax_rate") == (
        "5 + 9.975"
    )
    page = text(as_owner.get(f"/invoices/{invoice.pk}"))
    assert "5% + 9.975%" in page
    assert "Tax 9.975% on ₦58.31" in page


def test_taxes_that_make_no_sense_are_told_beside_the_line(as_owner: Client) -> None:
    for rates, told in {
        "5 + 5": "as one",
        "1 + 2 + 3": "at most two",
        "5 + x": "no number",
        "+" * 101: "at most 100",
    }.items():
        page = text(as_owner.post(NEW, typed(("Rice", "1", "5.00", rates))))
        assert told in page
    assert not Invoice.objects.exists()


def test_a_new_customer_comes_with_it(as_owner: Client, organization: Organization) -> None:
    form = typed(RICE, new_name='Sol, Inc "Ventas" (BR)', new_email="ana@sol.example")
    as_owner.post(NEW, form)
    made = Customer.objects.get()
    assert (made.name, made.email) == ('Sol, Inc "Ventas" (BR)', "ana@sol.example")
    assert Invoice.objects.get().customer == made


def test_the_next_number_and_the_last_currency_are_proposed(
    as_owner: Client, organization: Organization
) -> None:
    factories.make_invoice(organization, number="2026/099-A", currency="KWD")
    page = text(as_owner.get(NEW))
    assert shown(page, "number") == "2026/100-A"
    assert shown(page, "currency") == "KWD"


def test_the_first_number_and_one_without_figures(organization: Organization) -> None:
    assert numbering.next_number(organization) == "INV-0001"
    factories.make_invoice(organization, number="Spring")
    assert numbering.next_number(organization) == "INV-0001"
    factories.make_invoice(organization, number="9" * 99)
    assert len(numbering.next_number(organization)) <= 100


def test_a_taken_number_is_said_with_a_free_one_and_nothing_is_lost(
    as_owner: Client, customer: Customer, organization: Organization
) -> None:
    factories.make_invoice(organization, number="INV-0041")
    page = text(as_owner.post(NEW, typed(RICE, customer=customer.pk)), 409)
    assert "There is an invoice INV-0041 already. INV-0042 is free." in page
    assert shown(page, "lines-0-unit_price") == "22,500.00"
    assert Invoice.objects.count() == 1


def test_a_double_click_on_save_makes_one_invoice(as_owner: Client) -> None:
    form = typed(RICE, new_name="Grace Hotel", to="a@grace.example, b@grace.example")
    one, other = (as_owner.post(NEW, form) for _ in range(2))
    assert one.headers["Location"] == other.headers["Location"]
    assert (Invoice.objects.count(), Customer.objects.count()) == (1, 1)


def test_a_number_is_free_in_another_organization(
    as_owner: Client, customer: Customer, outsider: User
) -> None:
    theirs = Organization.objects.get(slug="nordlicht")
    factories.make_invoice(theirs, number="INV-0041")
    assert as_owner.post(NEW, typed(RICE, customer=customer.pk)).status_code == 302


def test_another_organizations_customer_cannot_be_chosen(as_owner: Client, outsider: User) -> None:
    theirs = factories.make_invoice(Organization.objects.get(slug="nordlicht")).customer
    for name in (theirs.pk, theirs.name, theirs.email):
        page = text(as_owner.post(NEW, typed(RICE, customer=name)))
        assert "There is no customer" in page
    assert Invoice.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"number": "INV\r\nBcc: z@z.example"}, "single line of text"),
        ({"number": ""}, "required"),
        ({"currency": "XXZ"}, "not a currency code"),
        ({"due_on": "2026-03-01"}, "The due date is before the issue date."),
        ({"issued_on": "0001-01-01"}, "between the years 2000 and 2199"),
        ({"issued_on": "tomorrow"}, "Enter a date such as 2026-03-16."),
        ({"discount_rate": "101"}, "Enter a rate from 0 to 100 %."),
        ({"discount_rate": "-1"}, "Enter a rate from 0 to 100 %."),
        ({"notes": "bell \x07"}, "Remove the control characters"),
        ({"new_name": "x" * 241}, "at most 240"),
        ({"new_name": "Sol\x85Inc"}, "single line of text"),
        ({"new_name": "Sol", "new_email": "müller@sol.example"}, "plain letters"),
        ({"new_name": "", "new_email": "a@sol.example"}, "Enter the new customer’s name."),
        ({"to": "Ana <ana@sol.example>"}, "without names"),
        ({"lines-0-quantity": "0"}, "above zero"),
        ({"lines-0-quantity": "1e9"}, "is no number here"),
        ({"lines-0-quantity": "9" * 30}, "too large"),
        ({"lines-0-unit_price": "1.234,50"}, "is no number here"),
        ({"lines-0-unit_price": "0.001"}, "at most 2 decimal places"),
        ({"lines-0-unit_price": "9" * 17}, "This price is too large."),
        ({"lines-0-description": ""}, "Say what it is for."),
        ({"lines-0-tax_rate": "NaN"}, "is no number here"),
        ({"lines-TOTAL_FORMS": "x"}, "incomplete"),
        ({"lines-TOTAL_FORMS": "5000"}, "at most 200 lines"),
    ],
)
def test_what_makes_no_sense_is_said_and_nothing_is_stored(
    as_owner: Client, organization: Organization, change: dict[str, str], said: str
) -> None:
    page = text(as_owner.post(NEW, typed(RICE, new_name="Grace Hotel") | change))
    assert said in page
    assert not Invoice.objects.exists()
    assert not Customer.objects.exists()


def test_lines_that_come_to_less_than_nothing_or_to_too_much_are_refused(
    as_owner: Client, customer: Customer
) -> None:
    less = typed(("Credit", "1", "-5", "0"), customer=customer.pk)
    assert "less than nothing" in text(as_owner.post(NEW, less), 409)
    more = typed(("Gold", "9999999999", "999999999999", "0"), customer=customer.pk)
    assert "more than any invoice" in text(as_owner.post(NEW, more), 409)
    assert not Invoice.objects.exists()


def test_an_invoice_without_lines_is_a_draft_without_an_amount(
    as_owner: Client, customer: Customer
) -> None:
    as_owner.post(NEW, typed(("", "1", "", ""), customer=customer.pk))
    assert Invoice.objects.get().amount_minor is None


def test_names_that_people_have_are_kept(as_owner: Client, organization: Organization) -> None:
    names = ["x" * 240, "🍚 مطبخ ماما", 'Sol, Inc "Ventas" (BR)', "<b>Ö</b>"]
    for number, name in enumerate(names):
        as_owner.post(NEW, typed(RICE, new_name=name, number=f"N-{number}"))
    assert {customer.name for customer in Customer.objects.all()} == set(names)
    assert "<b>Ö</b>" not in text(as_owner.get(NEW))


def test_a_new_customer_that_is_there_already_is_taken(
    as_owner: Client, organization: Organization
) -> None:
    known = Customer.objects.create(organization=organization, name="Sol", email="ana@sol.example")
    form = typed(RICE, new_name="SOL ", new_email="Ana@sol.example", new_address="Elsewhere 1")
    for _click in range(2):
        assert as_owner.post(NEW, form).status_code == 302
    assert Invoice.objects.get().customer == known
    assert Customer.objects.count() == 1


def test_another_name_with_a_known_address_is_asked_about_first(
    as_owner: Client, organization: Organization
) -> None:
    Customer.objects.create(organization=organization, name="Sol", email="ana@sol.example")
    form = typed(RICE, new_name="Luna", new_email="ana@sol.example")
    asked = text(as_owner.post(NEW, form), 409)
    assert "There is Sol with this address" in asked
    assert not Invoice.objects.exists()
    form["shared"] = shown(asked, "shared")
    assert as_owner.post(NEW, form).status_code == 302
    assert Invoice.objects.get().customer.name == "Luna"
