"""The invoice list as people use it: tabs, search, orders, pages, selection, and the way back."""

import re
from datetime import date
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from deliveries.models import WorkerPresence
from invoices.models import Invoice, Organization
from tests import factories
from tests.ledger import steps
from tests.reading import text

LIST = "/invoices"
HTML = {"accept": "text/html"}


def listed(page: str) -> list[str]:
    return re.findall(r'id="open-\d+"[^>]*>([^<]+)<', page)


def link(page: str, label: str) -> str:
    found = re.search(rf'<a[^>]*href="([^"]+)"[^>]*>\s*(?:{label})', page)
    assert found is not None, label
    return unescape(found[1])


# Tabs and search ------------------------------------------------------------------------------


def test_tabs_count_what_they_hold_and_lead_there(
    as_owner: Client, organization: Organization
) -> None:
    for number, status in (("D-1", "draft"), ("D-2", "draft"), ("P-1", "paid")):
        factories.make_invoice(organization, number=number, status=status)
    page = text(as_owner.get(LIST))
    assert link(page, "Draft") == "/invoices?tab=draft"
    assert re.search(r'Draft <span class="count">2<', page)
    assert re.search(r'Overdue <span class="count none">0<', page)
    drafts = text(as_owner.get("/invoices?tab=draft"))
    assert set(listed(drafts)) == {"D-1", "D-2"}
    assert re.search(r'tab=draft" aria-current="page">Draft', drafts)
    assert "2 invoices" in drafts


def test_a_search_keeps_its_tab_and_order_and_can_be_cleared(
    as_owner: Client, organization: Organization
) -> None:
    factories.make_invoice(organization, number="D-1", customer_name="Grace Hotel")
    factories.make_invoice(organization, number="D-2")
    page = text(as_owner.get("/invoices?tab=draft&q=grace&sort=due"))
    assert listed(page) == ["D-1"]
    assert '<input type="hidden" name="tab" value="draft">' in page
    assert 'name="q" value="grace"' in page
    assert '<option value="due" selected>' in page
    assert link(page, "Clear the search") == "/invoices?tab=draft&sort=due"
    assert link(page, "Paid") == "/invoices?tab=paid&q=grace&sort=due"
    assert link(page, "Export") == "/invoices/export?tab=draft&q=grace&sort=due"


def test_a_search_is_text_whatever_it_holds(as_owner: Client, invoice: Invoice) -> None:
    page = text(as_owner.get(LIST, {"q": '"><script>alert(1)</script>'}))
    assert "<script>alert" not in page
    assert "Nothing found for “&quot;&gt;&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("query", "heading", "way_out"),
    [
        ("tab=draft&q=zzz", "Nothing found for “zzz”", "/invoices?tab=draft"),
        *(
            (f"tab={tab}", heading, "/invoices")
            for tab, heading in (
                ("draft", "No drafts"),
                ("sending", "Nothing is being sent"),
                ("retrying", "Nothing is being retried"),
                ("failed", "Nothing failed"),
                ("sent", "Nothing is open"),
                ("overdue", "Nothing is overdue"),
            )
        ),
    ],
)
def test_what_is_empty_says_so_and_leads_on(
    as_owner: Client, organization: Organization, query: str, heading: str, way_out: str
) -> None:
    factories.make_invoice(organization, status="paid")
    page = text(as_owner.get(f"/invoices?{query}"))
    assert heading in page
    assert link(page[page.index(heading) :], "Clear the search|All invoices") == way_out
    assert "<table" not in page
    assert "download>Export" not in page


def test_an_organization_without_invoices_has_nothing_to_search(as_owner: Client) -> None:
    page = text(as_owner.get(LIST))
    assert "No invoices yet" in page
    assert 'type="search"' not in page


# Orders and pages -----------------------------------------------------------------------------


def test_headers_order_and_say_how_the_list_is_ordered(
    as_owner: Client, organization: Organization
) -> None:
    for number, minor, day in (("A", 300, 3), ("B", 100, 1), ("C", 200, 2)):
        factories.make_invoice(
            organization, number=number, amount_minor=minor, due_on=date(2026, 4, day)
        )
    page = text(as_owner.get(LIST))
    assert listed(page) == ["C", "B", "A"]  # Newest first.
    assert "aria-sort" not in page
    orders = [
        ("Amount", "-amount", "ACB", "descending"),
        ("Amount", "amount", "BCA", "ascending"),
        ("Due", "due", "BCA", "ascending"),
        ("Due", "-due", "ACB", "descending"),
        ("Invoice", "number", "ABC", "ascending"),
        ("Invoice", "-number", "CBA", "descending"),
    ]
    for header, sort, expected, direction in orders:
        address = link(page, f"{header}(?!s)")
        assert address == f"/invoices?sort={sort}"
        page = text(as_owner.get(address))
        assert "".join(listed(page)) == expected
        assert page.count(f'aria-sort="{direction}"') == page.count("aria-sort") == 1


@pytest.mark.thorough
def test_fifty_to_a_page_there_and_back(as_owner: Client, organization: Organization) -> None:
    made = [factories.make_invoice(organization).number for _ in range(101)]
    page = text(as_owner.get("/invoices?tab=draft"))
    assert listed(page) == made[:50:-1]
    assert 'rel="prev"' not in page
    second = text(as_owner.get(link(page, "Next")))
    third = text(as_owner.get(link(second, "Next")))
    assert (listed(second), listed(third)) == (made[50:0:-1], made[:1])
    assert 'rel="next"' not in third
    assert listed(text(as_owner.get(link(third, "Previous")))) == listed(second)
    assert listed(text(as_owner.get(link(second, "Previous")))) == listed(page)


@pytest.mark.parametrize("query", ["after=nonsense", "before=e30", "page=2", "after=" + "A" * 5000])
def test_a_cursor_that_is_none_shows_the_first_page(
    as_owner: Client, invoice: Invoice, query: str
) -> None:
    assert listed(text(as_owner.get(f"/invoices?{query}"))) == ["INV-0001"]


def test_a_page_that_became_empty_leads_to_the_first(
    as_owner: Client, organization: Organization
) -> None:
    for _ in range(51):
        factories.make_invoice(organization)
    address = link(text(as_owner.get("/invoices?tab=draft")), "Next")
    Invoice.objects.update(status="paid")
    page = text(as_owner.get(address))
    assert "Nothing more here" in page
    assert link(page, "To the first page") == "/invoices?tab=draft"


@pytest.mark.parametrize(("query", "queries"), [("", 15), ("tab=sent&sort=-due", 15), ("q=m", 16)])
@pytest.mark.thorough
def test_a_list_takes_a_fixed_number_of_queries(
    as_owner: Client,
    organization: Organization,
    django_assert_num_queries: DjangoAssertNumQueries,
    query: str,
    queries: int,
) -> None:
    # Session, user, membership; lane, workers; (whose invoices a search means;) the page, its
    # tabs' counts; e-mails, reminders, mailboxes, batches; what came back; the header. Without a
    # worker, whether any waits.
    for total in (3, 60):
        while Invoice.objects.count() < total:
            factories.make_invoice(organization, status="sent", due_on=date(2026, 1, 1))
        with django_assert_num_queries(queries):
            as_owner.get(f"/invoices?{query}")


# Sending from a filtered page -----------------------------------------------------------------


def test_the_button_leads_back_to_the_same_page_of_the_same_filter(
    as_owner: Client, organization: Organization
) -> None:
    for _ in range(51):
        factories.make_invoice(organization, customer_name="Ọ̀ṣun & Co")
    query = {"tab": "draft", "q": "Ọ̀ṣun &", "sort": "number"}
    second = link(text(as_owner.get(LIST, query)), "Next")
    page = text(as_owner.get(second))
    form = re.search(
        r'action="(/invoices/\d+/send)".*?name="query" value="([^"]+)"', page, re.DOTALL
    )
    assert form is not None
    data = {"from": "list", "query": unescape(form[2])}
    answer = as_owner.post(form[1], data, headers=HTML)
    assert answer.headers["Location"].startswith(second + "#invoice-")
    # It has left the tab: what became of it is said.
    assert f"{listed(page)[0]} is on its way." in text(as_owner.get(second))


def test_a_row_that_renews_itself_keeps_its_box(as_owner: Client, invoice: Invoice) -> None:
    steps.bring_to(factories.make_delivery(invoice), "retrying")
    row = text(as_owner.get(f"/invoices/{invoice.pk}/state?part=row"))
    box = re.search(r'<input type="checkbox"[^>]*>', row)
    assert box is not None
    for part in (f'id="select-{invoice.pk}"', 'form="bulk"', "hx-preserve", 'name="invoice"'):
        assert part in box[0]


# Selection and keys ---------------------------------------------------------------------------


def test_boxes_have_names_and_a_form(as_owner: Client, invoice: Invoice) -> None:
    page = text(as_owner.get(LIST))
    assert f'name="invoice" value="{invoice.pk}" form="bulk"' in page
    assert "Select INV-0001" in page
    assert 'id="bulk"' in page
    assert '<label class="every" hidden>' in page  # Of no use without JavaScript.


def test_a_viewer_selects_nothing_but_may_export(
    client: Client, viewer: User, invoice: Invoice
) -> None:
    client.force_login(viewer)
    page = text(client.get(LIST))
    for part in ('name="invoice"', 'id="bulk"', "<kbd>s</kbd>", "<kbd>x</kbd>"):
        assert part not in page
    assert link(page, "Export") == "/invoices/export"


def test_an_outsider_finds_nothing_of_others(
    client: Client, outsider: User, invoice: Invoice
) -> None:
    client.force_login(outsider)
    for query in ("", "q=INV-0001", "tab=draft", "q=mama"):
        page = text(client.get(f"/invoices?{query}"))
        assert listed(page) == []
        assert not re.search(r'class="count">', page)


def test_the_keys_are_told_on_the_page(as_owner: Client, invoice: Invoice) -> None:
    page = text(as_owner.get(LIST))
    script = Path("invoices/static/invoices/pages.js").read_text()
    for key in ("j", "k", "x", "s", "/", "?"):
        assert f"<kbd>{key}</kbd>" in page
        assert re.search(rf'^    "?{re.escape(key)}"?: ', script, re.MULTILINE)
    assert '<dialog id="keys"' in page


def test_a_living_worker_takes_one_question_less(
    as_owner: Client, invoice: Invoice, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    WorkerPresence.objects.create(name="w", host="h", pid=1, version="0", threads=5)
    with django_assert_num_queries(14):
        as_owner.get(LIST)


def test_void_invoices_have_a_tab(as_owner: Client, organization: Organization) -> None:
    factories.make_invoice(organization, number="INV-0007", status="void")
    factories.make_invoice(organization, number="INV-0008")
    page = as_owner.get("/invoices?tab=void").content.decode()
    assert "INV-0007" in page
    assert "INV-0008" not in page


def test_an_address_that_may_be_cut_off_is_whole_in_its_title(
    as_owner: Client, invoice: Invoice
) -> None:
    assert f'title="{invoice.customer.email}"' in as_owner.get("/invoices").content.decode()
