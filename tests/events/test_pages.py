"""What finance staff see of e-mails after sending: states, warnings, the list of bounces."""

import csv
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from deliveries.models import Delivery, Mailbox
from invoices.models import Customer, Invoice, Organization
from tests import factories
from tests.events.provider import payload, post

pytestmark = pytest.mark.thorough

Page = Callable[[str], str]


def exported(client: Client, query: str = "") -> list[list[str]]:
    answer: Any = client.get(f"/bounces/export{query}")
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.reader(StringIO(text)))


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("delivered", ["Delivered"]),
        ("delayed", ["Delayed", "The provider keeps trying."]),
        (
            "bounced",
            [
                "Bounced for good",
                "The mailbox does not exist. Correct the address",
            ],
        ),
        ("bounced_for_now", ["Bounced for now", "The mailbox is full. Ask the customer"]),
        ("suppressed", ["Suppressed", "E-mails to this address came back before."]),
        ("failed", ["Not delivered", "The provider&#x27;s daily quota was used up."]),
        ("complained", ["Complained", "talk to them before you send more"]),
    ],
)
def test_every_page_says_what_became_of_it(
    page: Page, sent: Delivery, what: str, said: list[str]
) -> None:
    post(payload(what))
    for address in ("/invoices", f"/invoices/{sent.invoice_id}"):
        shown = page(address)
        assert all(words in shown for words in said)
        assert "11:00" in shown  # In Lagos.


def test_the_timeline_tells_it(page: Page, bounced: Delivery) -> None:
    assert "Bounced: the mailbox does not exist." in page(f"/invoices/{bounced.invoice_id}")


def test_a_late_delivered_does_not_hide_a_bounce(page: Page, bounced: Delivery) -> None:
    post(payload("delivered", at="2026-03-02T11:00:00Z"))
    assert "Correct the address" in page("/invoices")


def test_a_page_awaits_the_report_for_a_moment(page: Page, sent: Delivery) -> None:
    assert "every 2s" not in page("/invoices")
    Delivery.objects.update(sent_at=timezone.now())
    assert "hx-trigger" in page("/invoices")
    post(payload("delivered"))
    assert "every 2s" not in page("/invoices")


# Before the next click ------------------------------------------------------------------------


def next_invoice(delivery: Delivery, **values: Any) -> Invoice:
    """Return a further draft to the same customer."""
    invoice = factories.make_invoice(delivery.organization, **values)
    invoice.customer_id = delivery.invoice.customer_id
    invoice.save(update_fields=["customer"])
    return invoice


def test_an_address_that_bounced_warns_before_the_next_click(page: Page, bounced: Delivery) -> None:
    draft = next_invoice(bounced)
    for address in ("/invoices", f"/invoices/{draft.pk}"):
        assert "E-mails to accounts@mamaput.example came back on 2 Mar" in page(address)


def test_a_corrected_address_clears_the_warning(page: Page, bounced: Delivery) -> None:
    draft = next_invoice(bounced)
    Customer.objects.update(email="new@mamaput.example")
    assert "came back" not in page(f"/invoices/{draft.pk}")


def test_the_address_is_known_whatever_its_case(page: Page, bounced: Delivery) -> None:
    draft = next_invoice(bounced)
    Customer.objects.update(email=" Accounts@MamaPut.example ")
    assert "came back" in page(f"/invoices/{draft.pk}")


def test_an_email_that_got_there_since_clears_the_warning(page: Page, bounced: Delivery) -> None:
    draft = next_invoice(bounced)
    Mailbox.objects.update(arrived_at=datetime(2026, 3, 3, tzinfo=UTC))
    assert "came back" not in page(f"/invoices/{draft.pk}")


def test_a_complaint_asks_to_ask_first(page: Page, sent: Delivery) -> None:
    post(payload("complained"))
    draft = next_invoice(sent)
    assert "was reported as spam on 2 Mar" in page(f"/invoices/{draft.pk}")


def test_a_full_mailbox_does_not_warn(page: Page, sent: Delivery) -> None:
    post(payload("bounced_for_now"))
    draft = next_invoice(sent)
    assert "came back" not in page(f"/invoices/{draft.pk}")


def test_one_organizations_bounces_are_not_anothers(
    client: Client, outsider: User, bounced: Delivery
) -> None:
    elsewhere = Organization.objects.get(slug="nordlicht")
    draft = factories.make_invoice(elsewhere)
    client.force_login(outsider)
    assert "came back" not in client.get(f"/invoices/{draft.pk}").content.decode()


def test_a_list_asks_once_for_all_addresses(page: Page, bounced: Delivery) -> None:
    for _ in range(5):
        next_invoice(bounced)
    with CaptureQueriesContext(connection) as queries:
        page("/invoices")
    assert len([q for q in queries if "deliveries_mailbox" in q["sql"]]) == 1


# The list and its export ----------------------------------------------------------------------


def test_bounces_are_listed_with_address_and_reason(page: Page, bounced: Delivery) -> None:
    shown = page("/bounces")
    for words in ("INV-0001", "accounts@mamaput.example", "The mailbox does not exist."):
        assert words in shown
    assert "1 e-mail came back" in shown
    assert "another address by now" not in shown
    Customer.objects.update(email="new@mamaput.example")
    assert "another address by now" in page("/bounces")


def test_what_was_delivered_is_no_bounce(page: Page, sent: Delivery) -> None:
    post(payload("delivered"))
    assert "Nothing has come back" in page("/bounces")


def test_bounces_are_exported(client: Client, page: Page, bounced: Delivery) -> None:
    heading, row = exported(client)
    assert heading == [
        *("Invoice", "E-mail", "Customer", "Address", "When (UTC)", "What", "Why"),
        "Delivered later (UTC)",
    ]
    assert row == [
        *("INV-0001", "invoice", "Mama Put Kitchen", "accounts@mamaput.example"),
        *("2026-03-02 10:00:00", "Bounced for good", "the mailbox does not exist", ""),
    ]


def test_an_export_names_its_file(client: Client, page: Page, bounced: Delivery) -> None:
    answer = client.get("/bounces/export")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == (
        'attachment; filename="bounces-mainland-supplies.csv"'
    )


def test_no_cell_is_a_formula(client: Client, page: Page, bounced: Delivery) -> None:
    Customer.objects.update(name='=HYPERLINK("http://evil.example")')
    assert exported(client)[1][2].startswith("'=")
    Customer.objects.update(name="Mama Put,\u202e=1+1")
    assert exported(client)[1][2] == "Mama Put,\u202e'=1+1"


@pytest.mark.parametrize("address", ["/bounces", "/bounces/export"])
def test_who_sees_bounces(
    client: Client, bounced: Delivery, viewer: User, outsider: User, address: str
) -> None:
    assert client.get(address).headers["Location"] == f"/login?next={address}"
    for person, sees in ((viewer, True), (outsider, False)):
        client.force_login(person)
        answer: Any = client.get(address)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert (b"INV-0001" in content) is sees
        assert client.post(address).status_code == 405


def test_pages_beyond_the_last_are_the_last(page: Page, bounced: Delivery) -> None:
    for asked in ("0", "-1", "9" * 30, "x"):
        assert "INV-0001" in page(f"/bounces?page={asked}")
