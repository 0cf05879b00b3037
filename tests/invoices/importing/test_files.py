"""Files as other programs write them: encodings, delimiters, headers, quotation marks."""

import codecs

import pytest

from invoices import importing
from invoices.importing import Unreadable
from invoices.models import Customer, Invoice, InvoiceLine, Organization
from tests.invoices.importing.files import (
    HEADER,
    LINES_HEADER,
    file_of,
    item,
    places,
    row,
    run,
    sentences,
    told,
)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "UTF-16"),
        ("cp1252", "Windows-1252"),
        ("latin-1", "Windows-1252"),
    ],
)
def test_a_file_in_any_usual_encoding_is_read_and_said(
    organization: Organization, encoding: str, name: str
) -> None:
    content = file_of(item(customer_name="Köhler & Söhne"), header=LINES_HEADER, encoding=encoding)
    report = run(content, organization)
    assert report.layout is not None
    assert (report.layout.encoding_name, report.imported) == (name, True)
    assert Customer.objects.get().name == "Köhler & Söhne"


def test_big_endian_utf_16_is_read(organization: Organization) -> None:
    content = codecs.BOM_UTF16_BE + file_of(row(), encoding="utf-16-be")
    assert run(content, organization).imported


@pytest.mark.parametrize(("mark", "name"), [(";", "semicolon"), ("\t", "tab"), ("|", "bar")])
def test_the_delimiter_is_found_in_the_header(
    organization: Organization, mark: str, name: str
) -> None:
    report = run(file_of(row()).replace(b",", mark.encode()), organization)
    assert (report.delimiter_name, report.imported) == (name, True)


def test_a_german_file_with_semicolons_and_decimal_commas(organization: Organization) -> None:
    content = (
        "Rechnungsnummer;E-Mail;Kunde;Währung;Rechnungsdatum;Fällig am;Betrag\r\n"
        "R-1;a@b.example;Müller;EUR;02.03.2026;16.03.2026;1.234,50\r\n"
    ).encode("cp1252")
    report = run(content, organization)
    assert report.imported, told(report)
    assert Invoice.objects.get().amount_minor == 123_450
    assert report.conventions is not None
    assert report.conventions.decimal == ","


def test_excels_line_that_names_the_delimiter_is_heeded(organization: Organization) -> None:
    content = b"sep=;\r\n" + file_of(row(number="")).replace(b",", b";")
    report = run(content, organization)
    assert told(report) == [(3, "number", "The number is missing.")]


def test_headings_stand_in_any_order_case_and_punctuation(organization: Organization) -> None:
    header = "Amount,DUE DATE,Invoice-Date,Currency Code, E-Mail ,Invoice_No,Colour"
    line = "5.00,2026-03-16,2026-03-02,ngn,a@b.example,A-1,blue"
    report = run(file_of(line, header=header), organization)
    assert report.imported, told(report)
    assert report.layout is not None
    assert report.layout.unknown == ("Colour",)


def test_a_quoted_line_break_does_not_shift_the_line_numbers(organization: Organization) -> None:
    header = HEADER + ",notes"
    first, second = row() + ',"one\r\ntwo\r\nthree"', row("A-2", amount="x") + ","
    report = run(file_of(first, "", second, header=header), organization)
    assert told(report) == [(6, "amount", "This is no number.")]
    report = run(file_of(first, header=header), organization)
    assert Invoice.objects.get().notes == "one\r\ntwo\r\nthree"


def test_missing_and_doubled_columns_are_named(organization: Organization) -> None:
    report = run(file_of("1,2,3,4", header="number,currency,Currency code,Colour"), organization)
    assert places(report.problems) == [
        (1, "customer_email"),
        (1, "issued_on"),
        (1, "due_on"),
        (1, "amount"),
        (1, "currency"),
        (1, ""),
    ]
    assert "Not understood: “Colour”." in sentences(report)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty."),
        (b"\xef\xbb\xbf \r\n", "The file is empty."),
        (b"PK\x03\x04\x14\x00", "an Excel or OpenDocument workbook, not CSV"),
        (b"%PDF-1.7", "a PDF, not CSV"),
        (b"n\x00u\x00m\x00b\x00e\x00r\x00", "save it as CSV UTF-8"),
        (codecs.BOM_UTF16_LE + b"\x00", "save it again as CSV UTF-8"),
        (b"\xef\xbb\xbfnumber\xff", "save it again as CSV UTF-8"),
        (b"x" * 200_000, "too long to be a header"),
        (b";;;\r\n" * 5, "no header"),
    ],
)
def test_what_is_no_csv_is_refused_with_what_to_do(
    organization: Organization, content: bytes, sentence: str
) -> None:
    with pytest.raises(Unreadable, match=sentence):
        run(content, organization)


def test_a_file_without_lines_says_so(organization: Organization) -> None:
    assert told(run(file_of(), organization)) == [(1, "", "There is no line below it.")]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('"A-1,never closed', "never closed"),
        ('"A-1"x,a@b.example,NGN,2026-03-02,2026-03-16,5', "After a closing quotation mark"),
        (f'"{"x" * 200_000}"', "far too long"),
    ],
)
def test_quotation_marks_that_do_not_match_stop_at_their_line(
    organization: Organization, line: str, sentence: str
) -> None:
    report = run(file_of(row(), line), organization)
    assert not report.imported
    assert report.problems[0].line == 3
    assert sentence in sentences(report)


def test_a_line_with_more_cells_than_the_header_is_a_problem(organization: Organization) -> None:
    report = run(file_of(row() + ",1,2", row("A-2") + ",,"), organization)
    assert places(report.problems) == [(2, "")]


@pytest.mark.parametrize("name", ["bad\0name", "bad\x1b[31m", "\u202egnp.exe"])
def test_control_characters_are_refused_and_shown_harmlessly(
    organization: Organization, name: str
) -> None:
    report = run(file_of(item(customer_name=name), header=LINES_HEADER), organization)
    [problem] = report.problems
    assert (problem.line, problem.column) == (2, "customer_name")
    assert "control characters" in problem.sentence
    assert "�" in problem.value
    assert not Customer.objects.exists()


def test_the_sample_is_a_file_that_can_be_imported(organization: Organization) -> None:
    report = run(importing.SAMPLE.encode(), organization)
    assert report.imported, told(report)
    assert (report.summary.invoices, report.summary.lines) == (2, 3)
    assert report.summary.new_customers == 2
    assert InvoiceLine.objects.count() == 3
