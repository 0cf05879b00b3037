"""Invoices as CSV: what stands there, for whom, and that no spreadsheet runs it."""

import csv
import io
from datetime import date
from time import process_time
from typing import Any
from unicodedata import category

import pytest
from django.contrib.auth.models import User
from django.test import Client
from freezegun import freeze_time
from pytest_django import DjangoAssertNumQueries

from invoices import exporting
from invoices.exporting import csv_of
from invoices.listing import Filter
from invoices.models import Customer, Invoice, Organization
from invoices.spreadsheets import harmless
from tests import factories
from tests.ledger import steps


def rows(response: Any) -> list[dict[str, str]]:
    assert response.status_code == 200
    content = b"".join(response.streaming_content)
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


@freeze_time(factories.NOW)
def test_a_row_says_what_the_list_says(as_owner: Client, organization: Organization) -> None:
    invoice = factories.make_invoice(organization, number="INV-0001", due_on=date(2026, 2, 27))
    delivery = factories.make_delivery(invoice)
    steps.bring_to(delivery, "sent")
    [row] = rows(as_owner.get("/invoices/export"))
    assert row == {
        "Number": "INV-0001",
        "Customer": "Mama Put Kitchen",
        "Address": "accounts@mamaput.example",
        "Currency": "NGN",
        "Amount": "45000.00",
        "Issued": "2026-03-02",
        "Due": "2026-02-27",
        "Payment": "Overdue",
        "E-mail": "Sent",
        "Sent at (UTC)": "2026-03-02 09:00:00",
        "Last error": "",
    }


def test_a_row_says_why_an_email_was_not_sent(as_owner: Client, organization: Organization) -> None:
    delivery = factories.make_delivery(factories.make_invoice(organization))
    steps.bring_to(delivery, "dead")
    [row] = rows(as_owner.get("/invoices/export"))
    assert (row["Payment"], row["E-mail"], row["Sent at (UTC)"]) == ("On hold", "Not sent", "")
    assert row["Last error"] == "The provider refused it (422): no such mailbox"


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (None, "NGN", ""),
        (5, "NGN", "0.05"),
        (1500, "JPY", "1500"),
        (1, "KWD", "0.001"),
        (2**63 - 1, "EUR", "92233720368547758.07"),
        (1, "XXQ", "1 minor units"),
    ],
)
def test_an_amount_is_a_plain_number(
    organization: Organization, minor: int | None, currency: str, text: str
) -> None:
    factories.make_invoice(organization, amount_minor=None, currency=currency)
    Invoice.objects.update(amount_minor=minor)
    lines = "".join(csv_of(organization, Filter())).splitlines()
    assert lines[1].split(",")[4] == text


def test_the_export_is_the_list_that_was_looked_at(
    as_owner: Client, organization: Organization
) -> None:
    for number, status, name in (("A", "draft", "Mama Put"), ("B", "paid", "Mama Put")):
        factories.make_invoice(organization, number=number, status=status, customer_name=name)
    factories.make_invoice(organization, number="C", customer_name="Grace Hotel")
    found = rows(as_owner.get("/invoices/export?tab=draft&q=mama&sort=-number&after=x"))
    assert [row["Number"] for row in found] == ["A"]
    found = rows(as_owner.get("/invoices/export?sort=-number"))
    assert [row["Number"] for row in found] == ["C", "B", "A"]


def test_batches_follow_each_other_at_a_fixed_cost(
    organization: Organization,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    made = [factories.make_invoice(organization).number for _ in range(7)]
    monkeypatch.setattr(exporting, "BATCH", 3)
    # For each of three batches: the invoices, and their e-mails.
    with django_assert_num_queries(6):
        text = "".join(csv_of(organization, Filter(sort="number")))
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == made


def test_nothing_is_read_before_it_is_asked_for(
    organization: Organization, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        next(csv_of(organization, Filter()))


# What no spreadsheet may run ------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\tx", "＝1+1", "＋1", "－1", "＠x"),
        *(" =1", "\u00a0=1", "\u200b=1", "\ufeff=1", '"=1', "''=1", '=HYPERLINK("http://x";"y")'),
    ],
)
def test_a_cell_that_begins_like_a_formula_is_text(text: str) -> None:
    assert "'" in harmless(text)[: len(text) - len(text.lstrip()) + 4]
    assert harmless(text).replace("'", "") == text.replace("'", "")
    assert harmless(text) != text


@pytest.mark.parametrize(
    "text",
    [
        *("a;=1", "a\n=1", "a\t+1", 'a;"=1', "a; =1", "a\r\n@x", ";;=1", "a|=1"),
        *(
            "a,=1",
            "a, =1",
            'a","=1',
            "a,,=1",
            "a\x85=1",
            "a\u2028=1",
            "a\x0b=1",
            "a\x0c=1",
            "a\x1e=1",
        ),
    ],
)
def test_a_cell_is_harmless_under_another_separator_as_well(text: str) -> None:
    assert harmless(text) != text
    assert harmless(text).replace("'", "") == text


@pytest.mark.parametrize("text", ["\n", "\x0b", " ", "\r\n", "\t", ",", "\xad", ", \t"])
def test_a_long_row_of_what_is_skipped_costs_little(text: str) -> None:
    began = process_time()
    harmless(text * 100_000)
    assert process_time() - began < 2


def test_a_tab_that_begins_a_cell_hides_no_formula_behind_it() -> None:
    assert harmless("\t=1") == "'\t'=1"


def test_nothing_that_is_not_seen_hides_a_formula() -> None:
    """Controls, format characters, spaces, and what has no width, of all of Unicode."""
    ignored = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u2800\u3164\ufe00\ufe0f\uffa0\U000e0100"
    unseen = [chr(code) for code in range(0x110000) if category(chr(code)) in UNSEEN] + [*ignored]
    assert {"\u202e", "\xad", "\u061c", "\u180e", "\x00"} <= set(unseen)
    bare = [ascii(char) for char in unseen if harmless(f"{char}=1") == f"{char}=1"]
    assert bare == []
    behind = [ascii(char) for char in unseen if harmless(f"a,{char}=1") == f"a,{char}=1"]
    assert behind == []


UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Mama Put",
        "a=b",
        "a+b@c.example",
        "INV-0001",
        "Kúnlé & Ṣadé",
        "a, b",
        "1,5",
        "O'Brien - Sons",
    ],
)
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


def test_what_customers_call_themselves_is_made_harmless(
    as_owner: Client, organization: Organization
) -> None:
    factories.make_invoice(organization, number="-5", customer_name='=cmd|"/c calc"!A1')
    Customer.objects.update(email="@evil.example")
    [row] = rows(as_owner.get("/invoices/export"))
    assert row["Number"] == "'-5"
    assert row["Customer"] == """'=cmd|"/c calc"!A1"""
    assert row["Address"] == "'@evil.example"


# Who may --------------------------------------------------------------------------------------


@freeze_time("2026-03-02 23:30")
def test_a_viewer_may_export(client: Client, viewer: User, invoice: Invoice) -> None:
    client.force_login(viewer)
    answer: Any = client.get("/invoices/export")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    name = "mainland-supplies-invoices-2026-03-03.csv"  # By the clock in Lagos.
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["Cache-Control"].startswith("max-age=0")
    assert len(rows(answer)) == 1


def test_an_outsider_gets_none_of_it(client: Client, outsider: User, invoice: Invoice) -> None:
    client.force_login(outsider)
    assert rows(client.get("/invoices/export?q=INV-0001")) == []


def test_strangers_and_other_methods_get_nothing(client: Client, owner: User) -> None:
    assert client.get("/invoices/export").headers["Location"] == "/login?next=/invoices/export"
    client.force_login(owner)
    assert client.post("/invoices/export").status_code == 405
    assert client.get("/invoices/export?q=%00").status_code == 400
