"""What an import leaves behind: a list of just its invoices, and nothing else decided by them."""

from datetime import date
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client

from invoices import numbering
from invoices.forms.entries import Entry
from invoices.listing import Filter
from invoices.models import Organization
from invoices.pages.formats import Formats
from tests import factories
from tests.invoices.importing.files import LINES_HEADER, file_of, item, row, run
from tests.invoices.importing.test_page import confirmation, uploaded

pytestmark = pytest.mark.thorough


def imported(client: Client, content: bytes) -> str:
    """Import a file through the pages; return the address that this leads to."""
    file = uploaded(client, content)
    done = client.post(file, confirmation(client, file))
    address: str = done.headers["Location"]
    return address


def begun(organization: Organization) -> dict[str, Any]:
    formats = Formats.of(organization)
    return dict(Entry.of_new(organization, formats.locale, today=date(2026, 5, 4)).data)


def test_an_imported_series_does_not_decide_the_next_number(organization: Organization) -> None:
    factories.make_invoice(organization, number="INV-0007", currency="NGN")
    run(file_of(row("SHOP-900", issued_on="2026-03-10", currency="EUR")), organization)
    assert numbering.next_number(organization) == "INV-0008"
    assert begun(organization)["currency"] == "NGN"


def test_where_all_is_imported_the_first_number_is_proposed_in_the_currency_known(
    organization: Organization,
) -> None:
    content = file_of(item("SHOP-900", currency="KES", tax_rate="16"), header=LINES_HEADER)
    assert run(content, organization).imported
    values = begun(organization)
    assert (values["number"], values["currency"]) == ("INV-0001", "KES")
    assert values["lines-0-tax_rate"] == ""


def test_after_an_import_just_its_invoices_are_listed(
    as_owner: Client, organization: Organization
) -> None:
    factories.make_invoice(organization, number="INV-0007")
    page = as_owner.get(imported(as_owner, file_of(row(), row("A-2")))).content.decode()
    assert "A-1" in page
    assert "A-2" in page
    assert "INV-0007" not in page
    assert "Only what was imported" in page
    assert "Show all invoices" in page


def test_the_search_and_send_all_stay_with_the_imported_ones(
    as_owner: Client, organization: Organization
) -> None:
    factories.make_invoice(organization, number="INV-0007")
    address = imported(as_owner, file_of(row(), row("A-2")))
    page = as_owner.get(address).content.decode()
    moment = QueryDict(address.partition("?")[2])["imported"]
    assert page.count(f'name="imported" value="{moment}"') == 2
    question = as_owner.post("/invoices/send", {"all": "1", "imported": moment})
    assert "Send 2 invoices?" in question.content.decode()
    assert "INV-0007" not in as_owner.get(f"{address}&q=inv").content.decode()


def test_an_import_of_another_organization_is_an_empty_list(
    as_owner: Client, outsider: User, client: Client
) -> None:
    address = imported(as_owner, file_of(row()))
    client.force_login(outsider)
    page = client.get(address)
    assert page.status_code == 200
    assert "None of what was imported then" in page.content.decode()


@pytest.mark.parametrize(
    "moment",
    ["", "x", "7", "2026-03-02", "2026-03-02T09:00", "0001-01-01T00:00Z", "9999-12-31T23:59Z"],
)
def test_nonsense_is_no_import(moment: str) -> None:
    assert Filter.read(QueryDict(f"imported={quote(moment)}")).imported == ""


def test_a_filter_names_its_import_in_its_address() -> None:
    filter_ = Filter.read({"imported": "2026-03-02T10:00:00.123456+01:00"})
    assert filter_.imported == "2026-03-02T09:00:00.123456+00:00"
    assert Filter.read(QueryDict(filter_.query_string())) == filter_
    assert filter_.query_string(imported="") == ""
