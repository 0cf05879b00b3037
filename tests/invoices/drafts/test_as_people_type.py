"""Figures, lines and totals while people type."""

import io

import pypdf
import pytest
from django.test import Client

from deliveries import kinds
from invoices.models import Customer, Invoice, InvoiceLine, Organization
from tests import factories
from tests.invoices.drafts.form import HOUR, HTMX, NEW, RICE, TOTALS, shown, typed
from tests.reading import text


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
