"""Invoices as programs read them: the figures of page, PDF and e-mail, and nobody else's."""

import base64
import html
import io
import re
from decimal import Decimal

import pypdf
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from deliveries import kinds
from deliveries.models import Delivery
from invoices import drafting, tokens
from invoices.draft import Draft, DraftLine
from invoices.models import Invoice, Organization
from tests import factories

HOUR = DraftLine(
    description="Conseil",
    quantity=Decimal("0.333"),
    unit_price_minor=2_500,
    tax_rate=Decimal(5),
    second_tax_rate=Decimal("9.975"),
)
BOOK = DraftLine(
    description="Livre", quantity=Decimal(1), unit_price_minor=10_000, tax_rate=Decimal(5)
)


@pytest.fixture
def api(owner: User) -> Client:
    token = tokens.issue(owner.memberships.get(), name="ERP")
    return Client(headers={"Authorization": f"Bearer {token}"})


def taxed_twice_by(owner: User, *lines: DraftLine, discount_rate: Decimal = Decimal(0)) -> Invoice:
    organization = owner.memberships.get().organization
    draft = Draft(
        number="INV-9002",
        customer=factories.make_invoice(organization, number="INV-9001").customer,
        currency="CAD",
        issued_on=factories.NOW.date(),
        due_on=factories.NOW.date(),
        lines=lines,
        discount_rate=discount_rate,
    )
    return drafting.create(organization, draft, user_id=owner.pk)


@pytest.fixture
def taxed_twice(owner: User, organization: Organization) -> Invoice:
    return taxed_twice_by(owner, *[HOUR] * 7, BOOK, discount_rate=Decimal(10))


def figures_of(text: str) -> list[str]:
    """Return the amounts in Canadian dollars that a person reads there, in their order."""
    return re.findall(r"CA\$([\d.,]+\.\d\d)", " ".join(html.unescape(text).split()))


@pytest.mark.parametrize(
    ("lines", "discount_rate", "sums", "taxes"),
    [
        (
            [HOUR] * 7,
            "0",
            ("58.31", "0.00", "67.05"),
            [("5", "58.31", "2.92"), ("9.975", "58.31", "5.82")],
        ),
        (
            [HOUR] * 7 + [BOOK],
            "10",
            ("158.31", "15.83", "154.83"),
            [("5", "142.48", "7.12"), ("9.975", "52.48", "5.23")],
        ),
    ],
)
def test_page_pdf_email_and_api_tell_the_same_figures(
    api: Client,
    owner: User,
    organization: Organization,
    lines: list[DraftLine],
    discount_rate: str,
    sums: tuple[str, str, str],
    taxes: list[tuple[str, str, str]],
) -> None:
    invoice = taxed_twice_by(owner, *lines, discount_rate=Decimal(discount_rate))
    told = api.get(f"/api/invoices/{invoice.pk}").json()
    assert (told["subtotal"], told["discount"], told["total"]) == sums
    assert [(tax["rate"], tax["base"], tax["tax"]) for tax in told["taxes"]] == taxes
    browser = Client(headers={"Accept": "text/html"})
    browser.force_login(owner)
    page = browser.get(f"/invoices/{invoice.pk}").content.decode()
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    [pdf] = message.attachments
    [printed] = pypdf.PdfReader(io.BytesIO(base64.b64decode(pdf["content"]))).pages
    figures = {*sums, *(figure for _rate, *both in taxes for figure in both)} - {"0.00"}
    assert set(figures_of(page)) == set(figures_of(printed.extract_text())) == figures
    assert set(figures_of(message.text)) == set(figures_of(message.html)) == {sums[-1]}


def test_a_line_names_both_of_its_taxes(api: Client, taxed_twice: Invoice) -> None:
    lines = api.get(f"/api/invoices/{taxed_twice.pk}").json()["lines"]
    assert lines[0] == {
        "description": "Conseil",
        "quantity": "0.333",
        "unitPrice": "25.00",
        "taxRates": ["5", "9.975"],
        "net": "8.33",
    }
    assert lines[7]["taxRates"] == ["5"]


@pytest.mark.parametrize(("currency", "total"), [("JPY", "4500000"), ("KWD", "4500.000")])
def test_amounts_have_the_places_of_their_currency(
    api: Client, organization: Organization, currency: str, total: str
) -> None:
    invoice = factories.make_invoice(organization, currency=currency)
    assert api.get(f"/api/invoices/{invoice.pk}").json()["total"] == total


def test_what_is_not_known_is_null(api: Client, organization: Organization) -> None:
    nothing = factories.make_invoice(organization, amount_minor=None)
    told = api.get(f"/api/invoices/{nothing.pk}").json()
    assert (told["total"], told["subtotal"], told["delivery"]) == (None, None, None)
    strange = factories.make_invoice(organization, currency="XQZ")
    assert api.get(f"/api/invoices/{strange.pk}").json()["total"] is None


def test_an_amount_without_lines_is_its_own_subtotal(
    api: Client, organization: Organization
) -> None:
    invoice = factories.make_invoice(organization, amount_minor=1_250)
    invoice.lines.all().delete()
    told = api.get(f"/api/invoices/{invoice.pk}").json()
    assert (told["subtotal"], told["discount"], told["total"]) == ("12.50", "0.00", "12.50")
    assert told["lines"] == told["taxes"] == []


def test_the_emails_state_stands_beside_the_invoices(api: Client, invoice: Invoice) -> None:
    delivery = factories.make_delivery(invoice)
    told = api.get(f"/api/invoices/{invoice.pk}").json()
    assert (told["status"], told["delivery"]["status"]) == ("sending", "queued")
    own = api.get(f"/deliveries/{delivery.pk}").json()
    assert own.items() <= told["delivery"].items()
    Delivery.objects.filter(pk=delivery.pk).update(
        status="dead",
        dead_reason="outcome_unknown",
        last_error="no answer",
        handed_over_at=factories.NOW,
        finished_at=factories.NOW,
    )
    told = api.get(f"/api/invoices/{invoice.pk}").json()["delivery"]
    assert (told["status"], told["mayHaveArrived"]) == ("dead", True)


# The list -------------------------------------------------------------------------------------


def test_the_list_is_followed_page_by_page_to_its_end(
    api: Client, organization: Organization, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    made = [factories.make_invoice(organization).number for _ in range(120)]
    address, seen, pages = "/api/invoices?sort=number", [], 0
    while address:
        with django_assert_max_num_queries(4):
            told = api.get(address).json()
        seen += [one["number"] for one in told["invoices"]]
        address, pages = told["next"], pages + 1
    assert (seen, pages) == (sorted(made), 3)


def test_the_list_is_narrowed_as_the_page_is(api: Client, organization: Organization) -> None:
    factories.make_invoice(organization, number="DRAFT-1")
    factories.make_invoice(organization, number="PAID-1", status="paid")
    told = api.get("/api/invoices?tab=paid").json()
    assert [one["number"] for one in told["invoices"]] == ["PAID-1"]
    assert api.get("/api/invoices?q=DRAFT").json()["invoices"][0]["number"] == "DRAFT-1"
    assert "lines" not in told["invoices"][0]


@pytest.mark.parametrize("query", ["tab=overdu", "sort=size", "after=nonsense", "before=x"])
def test_what_a_program_asks_wrongly_is_refused_and_not_guessed_at(api: Client, query: str) -> None:
    answer = api.get(f"/api/invoices?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"


# Who ------------------------------------------------------------------------------------------


def test_another_organizations_program_learns_nothing(invoice: Invoice, outsider: User) -> None:
    token = tokens.issue(outsider.memberships.get(), name="Theirs")
    theirs = Client(headers={"Authorization": f"Bearer {token}"})
    answer, nothing = (theirs.get(f"/api/invoices/{pk}") for pk in (invoice.pk, 2**40))
    assert answer.status_code == nothing.status_code == 404
    assert answer.content == nothing.content
    assert theirs.get("/api/invoices").json()["invoices"] == []


def test_viewers_may_read_strangers_not_and_nobody_posts(
    api: Client, invoice: Invoice, viewer: User
) -> None:
    token = tokens.issue(viewer.memberships.get(), name="Reader")
    reader = Client(headers={"Authorization": f"Bearer {token}"})
    for address in ("/api/invoices", f"/api/invoices/{invoice.pk}"):
        assert reader.get(address).status_code == 200
        assert Client().get(address).status_code == 401
        assert api.post(address).status_code == 405
