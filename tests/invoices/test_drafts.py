"""Entering an invoice: new, changed, with live totals that the server decides."""

import io
from datetime import date
from decimal import Decimal
from typing import Any

import pypdf
import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries import kinds
from invoices import drafting, numbering
from invoices.draft import Draft, DraftLine
from invoices.models import Customer, Invoice, InvoiceLine, Organization
from tests import factories
from tests.ledger import steps

HTMX = {"hx-request": "true"}
NEW = "/invoices/new"
TOTALS = "/invoices/totals"


@pytest.fixture
def as_owner(client: Client, owner: User) -> Client:
    client.force_login(owner)
    return client


@pytest.fixture
def customer(organization: Organization) -> Customer:
    return Customer.objects.create(
        organization=organization, name="Mama Put Kitchen", email="accounts@mamaput.example"
    )


def text(response: Any, status: int = 200) -> str:
    assert response.status_code == status
    content: str = response.content.decode()
    return content


def typed(*lines: tuple[str, str, str, str], **values: object) -> dict[str, str]:
    """Return what a browser sends: lines as description, quantity, price, tax."""
    form = {
        "number": "INV-0041",
        "currency": "NGN",
        "issued_on": "2026-03-02",
        "due_on": "2026-03-16",
        "lines-TOTAL_FORMS": str(len(lines)),
        "lines-INITIAL_FORMS": "0",
    }
    for place, line in enumerate(lines):
        names = ("description", "quantity", "unit_price", "tax_rate")
        form |= {f"lines-{place}-{name}": part for name, part in zip(names, line, strict=True)}
    return form | {name: str(value) for name, value in values.items()}


RICE = ("Rice, 50 kg bags", "2", "22,500.00", "7.5")
HOUR = ("Consulting", "0.333", "25.00", "5")


def shown(page: str, name: str) -> str:
    """Return the value that a page's field holds."""
    _, found, rest = page.partition(f'name="{name}"')
    assert found, name
    return rest.removeprefix(' value="').partition('"')[0] if rest.startswith(" value") else ""


# A new one ------------------------------------------------------------------------------------


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


# As people type -------------------------------------------------------------------------------


def test_figures_are_read_as_the_organization_writes_them(client: Client, db: None) -> None:
    kiel = factories.make_organization("kiel", language="de")
    client.force_login(factories.make_member(kiel, "kai"))
    lines = (("Kaffee", "1,5", "1.234,50", "7 %"), ("Tee", "2", "3", ""))
    client.post(NEW, typed(*lines, new_name="Café Förde", currency="eur"))
    invoice = Invoice.objects.get()
    assert (invoice.currency, [line.unit_price_minor for line in invoice.lines.all()]) == (
        "EUR",
        [123_450, 300],
    )
    page = text(client.get(f"/invoices/{invoice.pk}/edit"))
    assert shown(page, "lines-0-unit_price") == "1234,50"
    assert shown(page, "lines-0-quantity") == "1,5"


@pytest.mark.parametrize(
    ("currency", "price", "minor", "total"),
    [("JPY", "1,234", 1_234, "JP¥1,234"), ("KWD", "1.234", 1_234, "KWD\xa01.234")],
)
def test_prices_have_their_currencys_places(
    as_owner: Client, customer: Customer, currency: str, price: str, minor: int, total: str
) -> None:
    form = typed(("Tea", "1", price, "0"), customer=customer.pk, currency=currency)
    assert total in text(as_owner.post(TOTALS, form)).replace("&nbsp;", "\xa0")
    as_owner.post(NEW, form)
    assert Invoice.objects.get().amount_minor == minor


def test_a_line_is_added_and_removed_without_scripts_and_nothing_is_lost(
    as_owner: Client, customer: Customer
) -> None:
    page = text(as_owner.post(NEW, typed(RICE, HOUR, customer=customer.pk) | {"add-line": "1"}))
    assert shown(page, "lines-1-description") == "Consulting"
    assert shown(page, "lines-2-tax_rate") == "5"
    page = text(as_owner.post(NEW, typed(RICE, HOUR, notes="Hi") | {"remove-line-0": "1"}))
    assert shown(page, "lines-0-description") == "Consulting"
    assert "lines-1-description" not in page
    assert "Hi" in page
    assert "field is required" not in page
    for odd in ("remove-line-99", "remove-line-", "remove-line-x"):
        assert shown(text(as_owner.post(NEW, typed(RICE) | {odd: "1"})), "lines-0-quantity") == "2"


@pytest.mark.thorough
def test_two_hundred_lines_and_no_more(as_owner: Client, customer: Customer) -> None:
    form = typed(*[HOUR] * 200, customer=customer.pk)
    assert "lines-200-description" not in text(as_owner.post(NEW, form | {"add-line": "1"}))
    as_owner.post(NEW, form)
    # 200 * 8.33 = 1,666.00 and 5 %
    assert Invoice.objects.get().amount_minor == 174_930
    assert InvoiceLine.objects.count() == 200


def test_the_server_decides_the_totals_while_people_type(as_owner: Client) -> None:
    form = typed(*[HOUR] * 7, ("Quebec", "1", "100", "9.975"), discount_rate="10")
    page = text(as_owner.post(TOTALS, form, headers=HTMX))
    for part in ("8.33", "₦158.31", "Discount 10%", "-₦15.83", "Tax 5% on ₦52.48", "₦2.62"):
        assert part in page
    assert "Tax 9.975% on ₦90.00" in page
    assert "₦8.98" in page
    assert "₦154.08" in page
    assert not Invoice.objects.exists()


def test_the_totals_say_what_is_wrong_instead_of_a_total(as_owner: Client) -> None:
    page = text(as_owner.post(TOTALS, typed(RICE, ("Tea", "x", "1", ""))))
    assert "Line 2: “x” is no number here" in page
    assert "Total" not in page
    assert "45,000.00" in page
    assert text(as_owner.post(TOTALS, {}))


def test_many_customers_are_typed_not_listed(as_owner: Client, organization: Organization) -> None:
    Customer.objects.bulk_create(
        Customer(organization=organization, name=f"Kiosk {n:03}", email=f"k{n}@kiosk.example")
        for n in range(201)
    )
    assert "<datalist" in text(as_owner.get(NEW))
    options = text(as_owner.get("/invoices/customers?customer=kiosk 20"))
    assert options.count("<option") == 1
    for way in ("kiosk 200", "K200@kiosk.example", options.split('"')[1]):
        Invoice.objects.all().delete()
        as_owner.post(NEW, typed(customer=way))
        assert Invoice.objects.get().customer.name == "Kiosk 200"
    assert "Several customers fit" in text(as_owner.post(NEW, typed(customer="Kiosk")))


def test_page_pdf_and_email_say_the_same(as_owner: Client, customer: Customer) -> None:
    lines = [*[HOUR] * 7, ("Quebec", "1", "100", "9.975")]
    as_owner.post(NEW, typed(*lines, customer=customer.pk, discount_rate="10"))
    invoice = Invoice.objects.get()
    assert invoice.amount_minor == 15_408
    page = text(as_owner.get(f"/invoices/{invoice.pk}"))
    pdf = pypdf.PdfReader(io.BytesIO(as_owner.get(f"/invoices/{invoice.pk}/pdf").content))
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    printed = pdf.pages[0].extract_text()
    for said in (page, printed, message.text, message.html):
        assert "₦154.08" in said
    for said in (page, printed):
        for part in ("₦158.31", "-₦15.83", "₦52.48", "₦2.62", "₦90.00", "₦8.98"):
            assert part in said


# Changing -------------------------------------------------------------------------------------


def edited(client: Client, invoice: Invoice, **change: str) -> dict[str, str]:
    """Return the form of an invoice as a browser sends it back, with changes."""
    page = text(client.get(f"/invoices/{invoice.pk}/edit"))
    lines = [
        (
            shown(page, f"lines-{n}-description"),
            shown(page, f"lines-{n}-quantity"),
            shown(page, f"lines-{n}-unit_price"),
            "",
        )
        for n in range(int(shown(page, "lines-TOTAL_FORMS")))
    ]
    values = {"number": invoice.number, "version": shown(page, "version")}
    form = typed(*lines, customer=invoice.customer_id, **values)
    if 'name="died_at"' in page:
        form["died_at"] = shown(page, "died_at")
    return form | change


def test_a_draft_is_changed_with_its_lines_and_amount(as_owner: Client, invoice: Invoice) -> None:
    form = edited(as_owner, invoice, **{"lines-0-quantity": "3", "to": "pay@mamaput.example"})
    answer = as_owner.post(f"/invoices/{invoice.pk}/edit", form)
    assert answer.headers["Location"] == f"/invoices/{invoice.pk}"
    invoice.refresh_from_db()
    assert (invoice.amount_minor, invoice.to) == (13_500_000, ["pay@mamaput.example"])
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", form).status_code == 302


def test_what_two_people_save_does_not_overwrite_unseen(as_owner: Client, invoice: Invoice) -> None:
    form = edited(as_owner, invoice, notes="Mine")
    Invoice.objects.filter(pk=invoice.pk).update(notes="Theirs")
    page = text(as_owner.post(f"/invoices/{invoice.pk}/edit", form), 409)
    assert "Somebody else changed INV-0001" in page
    assert "Mine" in page
    invoice.refresh_from_db()
    assert invoice.notes == "Theirs"
    form["version"] = shown(page, "version")
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", form).status_code == 302
    invoice.refresh_from_db()
    assert invoice.notes == "Mine"


def test_a_draft_that_was_sent_meanwhile_does_not_change(
    as_owner: Client, owner: User, invoice: Invoice
) -> None:
    form = edited(as_owner, invoice, notes="Too late")
    steps.click_on_send(invoice, owner)
    page = text(as_owner.post(f"/invoices/{invoice.pk}/edit", form), 409)
    assert "INV-0001 is being sent: nothing was changed." in page
    assert "Too late" in page
    invoice.refresh_from_db()
    assert invoice.notes == ""


@pytest.mark.parametrize("status", ["sending", "sent", "paid", "void"])
def test_what_is_no_draft_has_no_form(as_owner: Client, invoice: Invoice, status: str) -> None:
    Invoice.objects.filter(pk=invoice.pk).update(status=status)
    answer = as_owner.get(f"/invoices/{invoice.pk}/edit")
    assert answer.headers["Location"] == f"/invoices/{invoice.pk}"
    assert f"/invoices/{invoice.pk}/edit" not in text(as_owner.get(f"/invoices/{invoice.pk}"))


def test_an_imported_amount_without_lines_survives_an_edit(
    as_owner: Client, organization: Organization
) -> None:
    imported = factories.make_invoice(organization, amount_minor=None)
    Invoice.objects.filter(pk=imported.pk).update(amount_minor=99)
    form = edited(as_owner, imported, notes="Checked")
    assert as_owner.post(f"/invoices/{imported.pk}/edit", form).status_code == 302
    imported.refresh_from_db()
    assert (imported.amount_minor, imported.notes) == (99, "Checked")


def test_a_taken_number_refuses_the_whole_change(as_owner: Client, invoice: Invoice) -> None:
    factories.make_invoice(invoice.organization, number="INV-0002")
    form = edited(as_owner, invoice, number="INV-0002", notes="x")
    assert "INV-0002 already" in text(as_owner.post(f"/invoices/{invoice.pk}/edit", form), 409)
    invoice.refresh_from_db()
    assert (invoice.notes, invoice.lines.count()) == ("", 1)


def test_the_rule_refuses_another_organizations_invoice(invoice: Invoice, outsider: User) -> None:
    theirs = Organization.objects.get(slug="nordlicht")
    draft = Draft(
        number="X",
        customer=invoice.customer,
        currency="EUR",
        issued_on=date(2026, 3, 2),
        due_on=date(2026, 3, 2),
        lines=(
            DraftLine(
                description="a", quantity=Decimal(1), unit_price_minor=1, tax_rate=Decimal(0)
            ),
        ),
    )
    with pytest.raises(Invoice.DoesNotExist):
        drafting.change(invoice.pk, draft, organization=theirs, version="", user_id=outsider.pk)


# Who may --------------------------------------------------------------------------------------


def test_viewers_may_not_enter_and_see_no_buttons(
    client: Client, viewer: User, invoice: Invoice
) -> None:
    client.force_login(viewer)
    for page in (NEW, f"/invoices/{invoice.pk}/edit", "/invoices/customers"):
        assert client.get(page).status_code == 403
    for page in (NEW, f"/invoices/{invoice.pk}/edit", TOTALS):
        assert client.post(page).status_code == 403
    assert "/edit" not in text(client.get(f"/invoices/{invoice.pk}"))


def test_outsiders_find_nothing_to_edit(client: Client, outsider: User, invoice: Invoice) -> None:
    client.force_login(outsider)
    assert client.get(f"/invoices/{invoice.pk}/edit").status_code == 404
    assert client.post(f"/invoices/{invoice.pk}/edit").status_code == 404


def test_other_methods_are_refused(as_owner: Client, invoice: Invoice) -> None:
    assert as_owner.get(TOTALS).status_code == 405
    assert as_owner.post("/invoices/customers").status_code == 405
    for page in (NEW, f"/invoices/{invoice.pk}/edit"):
        assert as_owner.put(page).status_code == 405


def test_the_form_holds_no_inline_script_or_style(as_owner: Client, customer: Customer) -> None:
    page = text(as_owner.get(NEW))
    assert " style=" not in page
    assert " onclick=" not in page


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
