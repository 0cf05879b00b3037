"""Dates and amounts are read as the whole file writes them."""

from invoices.models import Invoice, Organization
from tests.invoices.importing.files import file_of, places, row, run, sentences


def test_ambiguous_dates_are_decided_by_the_other_lines(organization: Organization) -> None:
    lines = (
        row(issued_on="03/04/2026", due_on="05/04/2026"),
        row("A-2", issued_on="03/04/2026", due_on="31/12/2026"),
    )
    assert run(file_of(*lines), organization).imported
    assert str(Invoice.objects.get(number="A-1").issued_on) == "2026-04-03"


def test_ambiguous_dates_that_nothing_decides_are_asked_for(organization: Organization) -> None:
    content = file_of(row(issued_on="03/04/2026", due_on="05/06/2026"))
    report = run(content, organization)
    assert report.unclear
    assert (report.problems[0].line, report.problems[0].value) == (2, "03/04/2026")
    assert "Day first or month first?" in sentences(report)
    assert run(content, organization, dates="mdy").imported
    assert str(Invoice.objects.get().issued_on) == "2026-03-04"


def test_an_ambiguous_amount_is_decided_by_the_other_lines(organization: Organization) -> None:
    lines = (row(amount="1.234"), row("A-2", amount='"12,50"'))
    assert run(file_of(*lines), organization).imported
    assert Invoice.objects.get(number="A-1").amount_minor == 123_400


def test_an_ambiguous_amount_that_nothing_decides_is_asked_for(organization: Organization) -> None:
    content = file_of(row(amount='"1,234"'))
    report = run(content, organization)
    assert report.unclear
    assert "Is this mark a decimal mark" in sentences(report)
    assert run(content, organization, decimal=".").imported
    assert Invoice.objects.get().amount_minor == 123_400


def test_a_file_that_writes_both_ways_is_refused_by_line(organization: Organization) -> None:
    lines = (row(amount='"1,50"'), row("A-2", amount="1.50"))
    report = run(file_of(*lines), organization)
    assert places(report.problems) == [(2, "amount")]
    assert not Invoice.objects.exists()
