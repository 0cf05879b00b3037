"""The lines of a file become invoices, or problems of their line."""

from decimal import Decimal

import pytest

from invoices import money
from invoices.models import Customer, Invoice, InvoiceLine, Organization
from tests import factories
from tests.invoices.importing.files import (
    LINES_HEADER,
    file_of,
    item,
    places,
    row,
    run,
    sentences,
    told,
)


def test_lines_with_one_number_are_one_invoice(organization: Organization) -> None:
    lines = (item(), item("A-2"), item(description="Beans", quantity="3", tax_rate="0"))
    report = run(file_of(*lines, header=LINES_HEADER), organization)
    assert report.imported, told(report)
    invoice = Invoice.objects.get(number="A-1")
    assert (invoice.status, invoice.currency, str(invoice.due_on)) == ("draft", "NGN", "2026-03-16")
    assert [(line.position, line.description) for line in invoice.lines.all()] == [
        (1, "Rice"),
        (2, "Beans"),
    ]
    assert invoice.amount_minor == money.totals(invoice.lines.all()).gross_minor == 5150


@pytest.mark.parametrize(
    ("quantity", "price", "rate"),
    [
        ("0.333333", "0.05", "7.5"),
        ("1.5", "0.03", "19"),
        ("2.5", "-0.01", "7"),
        ("3", "0.5", "0.1"),
    ],
)
def test_totals_are_rounded_as_money_rounds_them(
    organization: Organization, quantity: str, price: str, rate: str
) -> None:
    lines = (
        item(quantity=quantity, unit_price=price, tax_rate=rate),
        item(description="Base", quantity="1", unit_price="9.99", tax_rate=rate),
    )
    report = run(file_of(*lines, header=LINES_HEADER), organization)
    assert report.imported, told(report)
    invoice = Invoice.objects.get()
    assert invoice.amount_minor == money.totals(invoice.lines.all()).gross_minor


@pytest.mark.parametrize(("first", "second"), [("5", "9.975"), ("9.975", "5"), ("", "5")])
def test_a_second_tax_comes_in_a_column_of_its_own(
    organization: Organization, first: str, second: str
) -> None:
    hours = [
        ",".join(
            [
                item(description=f"Hour {n}", quantity="0.333", unit_price="25.00", tax_rate=first),
                second,
            ]
        )
        for n in range(7)
    ]
    content = file_of(*hours, header=f"{LINES_HEADER},Tax 2")
    report = run(content, organization)
    assert report.imported, told(report)
    invoice = Invoice.objects.get()
    assert invoice.amount_minor == money.totals(invoice.lines.all()).gross_minor
    assert invoice.amount_minor == (6_705 if first else 6_123)


def test_two_taxes_of_one_rate_are_a_problem_of_their_line(organization: Organization) -> None:
    content = file_of(f"{item(tax_rate='5')},5", header=f"{LINES_HEADER},second_tax_rate")
    assert places(run(content, organization).problems) == [(2, "second_tax_rate")]


def test_an_amount_alone_is_one_line(organization: Organization) -> None:
    assert run(file_of(row(amount="1250.50")), organization).imported
    invoice, line = Invoice.objects.get(), InvoiceLine.objects.get()
    assert invoice.amount_minor == line.unit_price_minor == 125_050
    assert (line.quantity, line.tax_rate) == (Decimal(1), Decimal(0))


def test_a_customer_is_known_by_the_address_whatever_its_case(organization: Organization) -> None:
    known = Customer.objects.create(
        organization=organization, name="Ada Ltd", email="Ada@Customer.Example"
    )
    report = run(
        file_of(
            row(),
            row("A-2", customer_email="NEW@b.example"),
            row("A-3", customer_email="new@b.example"),
        ),
        organization,
    )
    assert report.summary.new_customers == 1
    assert Invoice.objects.get(number="A-1").customer == known
    assert Customer.objects.count() == 2


def test_customers_of_others_and_removed_ones_are_not_used(
    organization: Organization, outsider: object
) -> None:
    elsewhere = Organization.objects.get(slug="nordlicht")
    for values in (
        {"organization": elsewhere},
        {"organization": organization, "removed_at": factories.NOW},
    ):
        Customer.objects.create(name="x", email="ada@customer.example", **values)
    assert run(file_of(row()), organization).imported
    assert Customer.objects.count() == 3
    assert Invoice.objects.get().customer.organization == organization


@pytest.mark.parametrize(
    ("values", "column", "sentence"),
    [
        ({"number": ""}, "number", "The number is missing."),
        ({"number": "N" * 101}, "number", "This is longer than 100 characters."),
        ({"customer_email": " "}, "customer_email", "The customer's address is missing."),
        ({"currency": "NAIRA"}, "currency", "This is no currency code"),
        ({"currency": ""}, "currency", "It is missing."),
        ({"issued_on": "2026-02-30"}, "issued_on", "There is no such day."),
        ({"due_on": "soon"}, "due_on", "This is no date"),
        ({"due_on": "2026-03-01"}, "due_on", "It is due before it was issued."),
        ({"amount": ""}, "amount", "It is missing."),
        ({"amount": "much"}, "amount", "This is no number."),
        ({"amount": "0"}, "amount", "The invoice must come to more than zero."),
        ({"amount": "-5"}, "amount", "The invoice must come to more than zero."),
        ({"amount": "1" + "0" * 30}, "amount", "This amount is too large."),
        ({"amount": "1.005"}, "amount", "NGN has 2 decimal places"),
    ],
)
def test_a_bad_value_is_a_problem_of_its_line_and_nothing_is_imported(
    organization: Organization, values: dict[str, str], column: str, sentence: str
) -> None:
    report = run(file_of(row("A-0"), row(**values)), organization, decimal=".")
    assert (3, column) in places(report.problems)
    assert sentence in sentences(report)
    assert all(line == 3 for line, _ in places(report.problems))
    assert not Invoice.objects.exists()
    assert not Customer.objects.exists()


def test_lines_that_come_to_too_much_or_something_else_are_refused(
    organization: Organization,
) -> None:
    header = LINES_HEADER + ",amount"
    lines = (
        item() + ",21.50",
        item("A-2") + ",21.51",
        item("A-3", quantity="9000000000", unit_price="9000000000") + ",",
    )
    report = run(file_of(*lines, header=header), organization)
    assert told(report) == [
        (3, "amount", "The lines come to 2150 in minor units, which is not this amount."),
        (4, "amount", "This amount is too large."),
    ]


def test_lines_of_one_invoice_must_agree(organization: Organization) -> None:
    lines = (
        item(),
        item(description="Beans", due_on="2026-03-17"),
        item(description="Yam", customer_email="other@b.example", currency="EUR"),
        item("A-2"),
        item(customer_email="ADA@customer.example", description="Okra"),
    )
    report = run(file_of(*lines, header=LINES_HEADER), organization)
    assert sorted(places(report.problems)) == [
        (3, "due_on"),
        (4, "currency"),
        (4, "customer_email"),
    ]
    assert "Line 2 of the same invoice says otherwise." in sentences(report)


def test_a_line_repeated_word_for_word_is_refused(organization: Organization) -> None:
    report = run(file_of(item(), item(), header=LINES_HEADER), organization)
    assert places(report.problems) == [(3, "number")]
    assert "repeats line 2" in sentences(report)


def test_a_doubled_number_in_a_file_of_amounts_is_refused(organization: Organization) -> None:
    report = run(file_of(row(), row("A-2"), row(amount="7.00")), organization)
    assert told(report) == [(4, "number", "This number stands in line 2 already.")]


def test_a_tax_rate_without_a_unit_price_is_not_guessed_at(organization: Organization) -> None:
    header = "number,customer_email,currency,issued_on,due_on,amount,tax_rate"
    report = run(file_of(row() + ",7.5", header=header), organization)
    assert places(report.problems) == [(2, "tax_rate")]
