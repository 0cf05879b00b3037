"""Which invoices a filter means, how pages of them follow each other, and by which indexes."""

import base64
import json
from datetime import date
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from freezegun import freeze_time

from invoices import listing, paging, searching
from invoices.listing import Filter, Tab, query_back
from invoices.models import Invoice, Organization
from invoices.paging import ORDERS, Place, turn_to
from invoices.short_reads import by_index_alone
from tests import factories
from tests.ledger import steps


def numbers(organization: Organization, **wanted: str) -> set[str]:
    found = Filter.read(wanted).invoices(organization)
    return set(found.values_list("number", flat=True))


# What an address says -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        *("", "tab=", "tab=nonsense", "tab[]=draft", "sort=-", "sort=id;drop", "q=", "q=%20%0d%0a"),
        *("tab=%F0%9F%92%A9&sort=1e30", "q=%00", "q=%e2%80%a8", "after=x", "q=%ED%A0%80&tab=ALL"),
    ],
)
def test_nonsense_is_the_whole_list_newest_first(query: str) -> None:
    filter_ = Filter.read(QueryDict(query))
    assert (filter_.tab, filter_.sort) == (Tab.ALL, "newest")
    assert filter_.search in {"", "�" * 3}


def test_a_filter_is_read_back_from_its_own_query_string() -> None:
    filter_ = Filter(tab=Tab.OVERDUE, search="Öl & Käse", sort="-amount")
    assert Filter.read(QueryDict(filter_.query_string())) == filter_
    assert filter_.query_string(search="", tab=Tab.ALL) == "sort=-amount"
    assert Filter().query_string() == ""
    assert Filter().query_string(after="abc") == "after=abc"


def test_a_search_is_one_line_of_a_sane_length() -> None:
    assert Filter.read({"q": "  Mama\tPut\r\n Kitchen\x07 "}).search == "Mama Put Kitchen"
    assert len(Filter.read({"q": "x" * 100_000}).search) == 320


def test_where_a_form_stood_is_kept_only_as_far_as_it_makes_sense(invoice: Invoice) -> None:
    token = ORDERS["due"].token(invoice)
    assert query_back(f"tab=draft&sort=due&after={token}") == f"tab=draft&sort=due&after={token}"
    assert query_back(f"tab=draft&after={token}&next=//evil.example") == "tab=draft"
    assert query_back("&" * 100_000) == query_back("%") == query_back("a=1&" * 3_000) == ""


# Tabs -----------------------------------------------------------------------------------------


@pytest.fixture
def of_each_state(organization: Organization) -> Organization:
    """One invoice in each state, named after it; the days are those of March 2026."""
    for status in ("draft", "sent", "paid", "void"):
        factories.make_invoice(organization, number=status, status=status)
    late = date(2026, 3, 1)
    factories.make_invoice(organization, number="overdue", status="sent", due_on=late)
    factories.make_invoice(organization, number="late draft", due_on=late)
    for state in ("sent", "dead", "retrying"):
        delivery = factories.make_delivery(factories.make_invoice(organization, number=state[::-1]))
        steps.bring_to(delivery, state)
    factories.make_delivery(factories.make_invoice(organization, number="queued"))
    return organization


@freeze_time("2026-03-02 12:00")
@pytest.mark.parametrize(
    ("tab", "expected"),
    [
        ("draft", {"draft", "late draft"}),
        ("sending", {"queued"}),
        ("retrying", {"gniyrter"}),
        ("failed", {"daed"}),
        ("sent", {"sent", "overdue", "tnes"}),
        ("overdue", {"overdue"}),
        ("paid", {"paid"}),
    ],
)
def test_each_tab_holds_its_own(of_each_state: Organization, tab: str, expected: set[str]) -> None:
    assert numbers(of_each_state, tab=tab) == expected
    filter_ = Filter.read({"tab": tab})
    counted = listing.counts(filter_, filter_.searched(of_each_state), of_each_state)
    assert counted[Tab(tab)] == len(expected)
    assert counted[Tab.ALL] == 10


@pytest.mark.parametrize(("moment", "expected"), [("22:59", set()), ("23:01", {"INV-1"})])
def test_overdue_begins_with_the_organizations_own_day(
    organization: Organization, moment: str, expected: set[str]
) -> None:
    factories.make_invoice(organization, number="INV-1", status="sent", due_on=date(2026, 3, 2))
    with freeze_time(f"2026-03-02 {moment}"):  # Lagos is an hour ahead.
        assert numbers(organization, tab="overdue") == expected


def test_an_invoice_whose_reminder_is_retried_is_not_being_retried(
    organization: Organization, invoice: Invoice
) -> None:
    delivery = factories.make_delivery(invoice)
    steps.bring_to(delivery, "retrying")
    type(delivery).objects.update(kind="reminder")
    assert numbers(organization, tab="retrying") == set()
    assert numbers(organization, tab="sending") == {"INV-0001"}


def test_counting_stops_where_nobody_reads_on(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "COUNTED", 2)
    monkeypatch.setattr(listing, "COUNTED_OF_A_SEARCH", 2)
    for _ in range(4):
        factories.make_invoice(organization)
    for filter_ in (Filter(), Filter(search="inv")):
        counted = listing.counts(filter_, filter_.searched(organization), organization)
        assert counted[Tab.ALL] == 3
        assert counted.get(Tab.DRAFT) == (None if filter_.search else 3)


# Search ---------------------------------------------------------------------------------------


@pytest.fixture
def customers_of_three(organization: Organization) -> Organization:
    for number, name, email in (
        ("A-1", "Mama Put Kitchen", "accounts@mamaput.example"),
        ("A-2", "Grace Hotel & Kitchen", "Mama@grace.example"),
        ("MAMA-3", "Palm Wine Bar", "orders@palmwine.example"),
    ):
        factories.make_invoice(organization, number=number, customer_name=name, email=email)
    return organization


@pytest.mark.parametrize("most", [searching.MOST_CUSTOMERS, 0])
@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("mama", {"A-1", "A-2", "MAMA-3"}),
        ("a-", {"A-1", "A-2"}),
        ("KITCH", {"A-1", "A-2"}),
        ("kitchen grace", {"A-2"}),
        ("ACCOUNTS@mama", {"A-1"}),
        ("put@", {"A-1"}),
        ("aput", set()),
        *(
            (nonsense, set())
            for nonsense in ("%", "_", "\\", "'", "a & | ! b:*", "-", "..", "')--")
        ),
    ],
)
def test_a_search_means_a_number_an_address_or_words_of_a_name(
    customers_of_three: Organization,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    term: str,
    expected: set[str],
) -> None:
    monkeypatch.setattr(searching, "MOST_CUSTOMERS", most)
    assert numbers(customers_of_three, q=term) == expected


def test_a_name_is_found_by_its_accented_words(organization: Organization) -> None:
    factories.make_invoice(organization, number="O-1", customer_name="Ọ̀ṣun Textiles")
    for term in ("Ọ̀ṣun", "ọ̀ṣ", "ọ̀ṣun text"):
        assert numbers(organization, q=term) == {"O-1"}


def test_a_search_stays_in_the_organization_and_in_the_tab(
    customers_of_three: Organization,
) -> None:
    elsewhere = factories.make_organization("nordlicht")
    factories.make_invoice(elsewhere, number="B-1", customer_name="Mama Put Kitchen")
    assert numbers(elsewhere, q="mama") == {"B-1"}
    assert "B-1" not in numbers(customers_of_three, q="mama")
    assert numbers(customers_of_three, q="mama", tab="paid") == set()


# Orders and pages -----------------------------------------------------------------------------


@pytest.fixture
def thirty(organization: Organization) -> Organization:
    """Invoices that tie in every column but the number, some without an amount."""
    first = factories.make_invoice(organization, number="N-99")
    Invoice.objects.bulk_create(
        Invoice(
            organization=organization,
            customer=first.customer,
            number=f"N-{number:02}",
            currency=("NGN", "EUR")[number % 2],
            amount_minor=None if number % 5 == 0 else 100 * (number % 3 + 1),
            issued_on=date(2026, 3, 1 + number % 4),
            due_on=date(2026, 4, 1 + number % 3),
        )
        for number in range(29)
    )
    return organization


@pytest.mark.parametrize("sort", ORDERS)
def test_pages_forwards_and_backwards_are_the_whole_list_in_its_order(
    thirty: Organization, sort: str
) -> None:
    order = ORDERS[sort]
    invoices = Invoice.objects.of(thirty)
    whole = [invoice.pk for invoice in order.of(invoices)]
    page, seen = turn_to(Place(), invoices, order, size=7), []
    assert page.previous is None
    while True:
        seen.append([invoice.pk for invoice in page.invoices])
        if page.next is None:
            break
        page = turn_to(page.next, invoices, order, size=7)
    assert [pk for pks in seen for pk in pks] == whole
    for expected in reversed(seen[:-1]):
        assert page.previous is not None
        page = turn_to(page.previous, invoices, order, size=7)
        assert [invoice.pk for invoice in page.invoices] == expected


def test_amounts_are_compared_within_their_currency(thirty: Organization) -> None:
    found = ORDERS["-amount"].of(Invoice.objects.of(thirty)).values_list("currency", "amount_minor")
    assert found[0] == ("NGN", 4_500_000)
    assert [currency for currency, _ in found] == ["NGN"] * 16 + ["EUR"] * 14
    assert found[29] == ("EUR", None)


def test_a_page_whose_rows_have_gone_is_no_dead_end(thirty: Organization) -> None:
    order, invoices = ORDERS["newest"], Invoice.objects.of(thirty)
    second = turn_to(turn_to(Place(), invoices, order, size=7).next or Place(), invoices, order)
    assert second.previous is not None
    Invoice.objects.update(status="paid")
    drafts = invoices.filter(status="draft")
    assert turn_to(second.previous, drafts, order).previous is None
    after = Place(after=order.token(second.invoices[0]))
    assert turn_to(after, drafts, order).previous == Place()


_NO_IDS: list[Any] = [-1, 10**30, True, 1.5, "5", None, [], {}]


def _token(*values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    [
        *("", "x", "=" * 50, "é", "A" * 10_000, "bnVsbA", _token(), _token("due", "2026-03-01")),
        _token("due", "2026-03-01", 5),  # A place in another order.
        *(_token("newest", "2026-03-01", bad) for bad in _NO_IDS),
        *(_token("newest", bad, 5) for bad in ("", "0000-00-00", "2026-03-01'", 5, None, "٢")),
        *(_token("newest", "2026-03-01", 5, 5), _token({"newest": 1}), _token([["newest"]])),
        base64.b64encode(b"[" * 400).decode(),
    ],
)
def test_a_cursor_that_is_none_is_the_first_page(token: str) -> None:
    for name in ("after", "before"):
        assert Place.read({name: token}, ORDERS["newest"]) == Place()


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x" * 101, 5])
def test_a_number_that_no_invoice_can_have_is_no_cursor(text: object) -> None:
    assert ORDERS["number"].read(_token("number", text)) is None


def test_any_number_makes_a_cursor_that_is_read_back() -> None:
    for number in ("\N{GRINNING FACE}" * 100, '"' * 100, "a\u00a0b"):
        order = ORDERS["number"]
        assert order.read(order.token(Invoice(number=number))) == (number,)


# Plans ----------------------------------------------------------------------------------------


# By PostgreSQL alone: to make them in Python takes longer than all of these tests.
_COPIES = """
    INSERT INTO {table}
    SELECT copy.* FROM {table} AS original, generate_series(1, %s) AS n, jsonb_populate_record(
        original,
        jsonb_build_object('id', nextval(pg_get_serial_sequence('{table}', 'id'))) || {changes}
    ) AS copy
"""


@pytest.fixture
def many(organization: Organization) -> Organization:
    """Thousands of invoices in every state."""
    factories.make_invoice(organization, failure_reason="no such address")
    with connection.cursor() as cursor:
        invoices = """jsonb_build_object(
            'number', 'P-' || lpad(n::text, 5, '0'),
            'status', (ARRAY['draft', 'sent', 'paid', 'failed'])[n %% 4 + 1],
            'amount_minor', n,
            'issued_on', date '2026-03-01' - n %% 700,
            'due_on', date '2026-04-01' - n %% 700)"""
        cursor.execute(_COPIES.format(table="invoices_invoice", changes=invoices), [6_000])
        customers = "jsonb_build_object('name', 'Name' || n, 'email', 'n' || n || '@x.example')"
        cursor.execute(_COPIES.format(table="invoices_customer", changes=customers), [500])
        cursor.execute("ANALYZE invoices_invoice, invoices_customer")
    return organization


def plan(invoices: Any) -> str:
    with by_index_alone():
        explained: str = invoices.explain()
    return explained


@pytest.mark.thorough
def test_every_page_is_a_range_of_an_index(many: Organization) -> None:
    for sort, order in ORDERS.items():
        deep = order.of(Invoice.objects.of(many))[3_000]
        values = order.read(order.token(deep))
        assert values is not None
        for tab in ("all", "draft", "failed", "sent", "overdue", "paid"):
            invoices = order.of(Filter.read({"tab": tab}).invoices(many))
            for page in (invoices, order.beyond(invoices, values)):
                explained = plan(page[:51])
                assert "Index Scan" in explained, (tab, sort)
                assert "Sort" not in explained, (tab, sort)
                assert "Filter" not in explained, (tab, sort)


@pytest.mark.thorough
def test_a_rare_search_reads_only_what_it_finds(many: Organization) -> None:
    for term, index in (("p-0077", "invoice_by_number_start"), ("name77", "customer_id")):
        explained = plan(ORDERS["newest"].of(Filter(search=term).invoices(many))[:51])
        assert index in explained
        assert "Seq Scan" not in explained


@pytest.mark.thorough
def test_customers_are_found_by_address_and_by_words_through_their_indexes(
    many: Organization,
) -> None:
    explained = plan(searching._customers("name77", many))
    assert "customer_by_email_start" in explained
    assert "customer_by_words_of_name" in explained


def test_the_orders_are_those_that_pages_offer() -> None:
    assert set(ORDERS) == {f"{minus}{name}" for name in _NAMES for minus in ("", "-")}
    assert paging.NEWEST in ORDERS


_NAMES = ("newest", "due", "amount", "number")


def planning() -> tuple[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_parallel_workers_per_gather'),"
            " current_setting('enable_seqscan')"
        )
        parallel, sequential = cursor.fetchone()
    return parallel, sequential


def test_a_page_is_read_off_indexes_alone_and_what_comes_after_is_planned_as_ever(
    transactional_db: None,
) -> None:
    before = planning()
    with by_index_alone():
        assert planning() == ("0", "off")
    assert planning() == before
    assert before[1] == "on"
