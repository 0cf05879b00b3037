"""A file is imported whole or not at all, and twice is once."""

import threading
from typing import Any

import pytest
from django.db import connection

from invoices import importing
from invoices.importing import SHOWN, checking
from invoices.importing.columns import known_as
from invoices.models import Customer, Invoice, Organization
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


def test_a_check_changes_nothing(organization: Organization) -> None:
    report = run(file_of(row()), organization, store=False)
    assert (report.imported, report.summary.invoices) == (False, 1)
    assert report.summary.totals == (("NGN", 125_000),)
    assert not Invoice.objects.exists()
    assert not Customer.objects.exists()


def test_the_same_file_twice_changes_nothing_the_second_time(organization: Organization) -> None:
    content = file_of(row(), row("A-2"))
    assert run(content, organization).imported
    report = run(content, organization)
    assert told(report) == [
        (2, "number", "This invoice exists already."),
        (3, "number", "This invoice exists already."),
    ]
    assert Invoice.objects.count() == 2


def test_existing_ones_can_be_left_out(organization: Organization) -> None:
    run(file_of(row()), organization)
    report = run(file_of(row(amount="9"), row("A-2")), organization, skip_existing=True)
    assert (report.imported, report.existing_skipped, report.summary.invoices) == (True, 1, 1)
    assert Invoice.objects.get(number="A-1").amount_minor == 125_000
    again = run(file_of(row(), row("A-2")), organization, skip_existing=True)
    assert (again.problem_count, again.existing_skipped, again.summary.invoices) == (0, 2, 0)


def test_the_same_number_in_another_organization_is_another_invoice(
    organization: Organization, outsider: object
) -> None:
    assert run(file_of(row()), organization).imported
    assert run(file_of(row()), Organization.objects.get(slug="nordlicht")).imported


def test_many_problems_are_counted_and_the_first_are_shown(organization: Organization) -> None:
    lines = [row(f"A-{n}", amount="x") for n in range(SHOWN + 30)]
    report = run(file_of(*lines), organization)
    assert (report.problem_count, len(report.problems)) == (SHOWN + 30, SHOWN)
    assert [one.line for one in report.problems] == list(range(2, SHOWN + 2))
    assert report.by_column == (("amount", SHOWN + 30),)


def test_problems_found_by_comparing_are_counted_too(organization: Organization) -> None:
    content = file_of(*(row(f"A-{n}") for n in range(SHOWN + 30)))
    run(content, organization)
    report = run(content, organization)
    assert (report.problem_count, len(report.problems)) == (SHOWN + 30, SHOWN)


def test_progress_only_reaches_the_end(organization: Organization) -> None:
    heard: list[int] = []
    content = file_of(*(row(f"A-{n}") for n in range(3_000)))
    importing.import_file(
        importing.Source(content=content), organization, importing.Options(), tick=heard.append
    )
    assert heard == sorted(heard)
    assert len(heard) > 10
    assert heard[-1] <= importing.PASSES * len(content)


def test_two_imports_of_one_file_at_once_make_its_invoices_once(transactional_db: None) -> None:
    organization = factories.make_organization()
    content = file_of(*(row(f"A-{n}") for n in range(200)))
    reports: list[Any] = []

    def start() -> None:
        try:
            reports.append(run(content, organization))
        finally:
            connection.close()

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.imported for report in reports) == [False, False, True]
    assert Invoice.objects.count() == 200
    assert Customer.objects.count() == 1


def test_a_number_taken_during_the_import_takes_all_of_it_back(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "tell_existing", lambda *_: None)
    factories.make_invoice(organization, number="A-2")
    report = run(file_of(row(), row("A-2")), organization)
    assert "Somebody made one of these invoices just now" in sentences(report)
    assert Invoice.objects.count() == 1
    assert not Customer.objects.filter(email="ada@customer.example").exists()


@pytest.mark.parametrize("address", ["ada", "ada@localhost", "a@b.example;c@d.example", "ä@b.co"])
def test_an_address_that_cannot_work_is_a_problem_of_its_line(
    organization: Organization, address: str
) -> None:
    report = run(file_of(row(), row("A-2", customer_email=address)), organization)
    assert places(report.problems) == [(3, "customer_email")]
    assert not Invoice.objects.exists()


def test_what_is_unclear_is_told_together_with_all_other_problems(
    organization: Organization,
) -> None:
    lines = (
        row(issued_on="03/04/2026", due_on="05/06/2026", amount='"1,234"'),
        row("A-2", amount="much", due_on="soon"),
        row("A-3", customer_email="ada", issued_on="04/03/2026", due_on="03/04/2026", amount="5"),
        row("A-1", amount="5"),
    )
    report = run(file_of(*lines), organization)
    assert report.unclear
    assert places(report.problems) == [
        *((2, "issued_on"), (2, "amount"), (3, "due_on"), (3, "amount")),
        *((4, "customer_email"), (5, "number")),
    ]


def test_lines_whose_prices_are_unclear_are_not_taken_for_repetitions(
    organization: Organization,
) -> None:
    lines = (
        item(unit_price='"1,234"', tax_rate="7"),
        item(unit_price='"2,345"', tax_rate="7"),
    )
    report = run(file_of(*lines, header=LINES_HEADER), organization)
    assert report.problem_count == 1
    assert "Is this mark a decimal mark" in sentences(report)


def test_invoices_without_a_customer_name_are_counted_and_imported(
    organization: Organization,
) -> None:
    Customer.objects.create(organization=organization, name="Bo", email="bo@b.example")
    Customer.objects.create(organization=organization, name=" ", email="cy@b.example")
    lines = (
        item("A-1", customer_name=""),
        item("A-2", customer_name="", customer_email="Bo@b.example"),
        item("A-3", customer_name="Cy", customer_email="cy@b.example"),
        item("A-4", customer_email="di@b.example"),
    )
    report = run(file_of(*lines, header=LINES_HEADER), organization)
    assert report.imported, told(report)
    assert report.summary.unnamed == 2


@pytest.mark.parametrize(
    ("heading", "column"),
    [
        ("Bezeichnung", "description"),
        ("Leistung", "description"),
        ("Artikel", "description"),
        ("Preis", "unit_price"),
        ("MwSt. %", "tax_rate"),
        ("Rechnungs-Nr.", "number"),
        ("Rechnungsdatum", "issued_on"),
        ("Fälligkeitsdatum", "due_on"),
        ("E-Mail-Adresse", "customer_email"),
    ],
)
def test_german_headings_are_known(heading: str, column: str) -> None:
    assert known_as(heading) == column
