"""The e-mails' texts: placeholders, what is refused, and that text stays text."""

from datetime import date
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from freezegun import freeze_time

from deliveries import kinds
from deliveries.models import Delivery
from invoices.models import Customer, EmailText, Invoice, Organization
from tests import factories
from tests.invoices.reminders.runs import MONDAY, make_overdue, run
from tests.reading import text

pytestmark = pytest.mark.thorough


def put_in(organization: Organization, kind: str = "invoice", **words: str) -> None:
    EmailText.objects.create(organization=organization, kind=kind, **words)


def seen(client: Client, kind: str) -> str:
    page = text(client.get("/settings/texts"))
    found: str = page.split(f'id="id_{kind}_seen"')[0].rsplit('value="', 1)[1].split('"')[0]
    return found


def save(client: Client, kind: str = "invoice", **words: str) -> Any:
    return client.post("/settings/texts", {"kind": kind, "seen": seen(client, kind)} | words)


# What is sent ---------------------------------------------------------------------------------


def test_without_own_words_the_default_is_sent(invoice: Invoice) -> None:
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    assert message.subject == "Invoice INV-0001 from Mainland Supplies Ltd"
    assert "Hello Mama Put Kitchen,\n\nplease find attached invoice INV-0001" in message.text


def test_own_words_stand_in_place_of_the_greeting(
    organization: Organization, invoice: Invoice
) -> None:
    put_in(
        organization,
        subject="{organization}: {number}, {amount}",
        text="Dear {customer},\n\nplease pay {amount} by {due}.\nThank you.",
    )
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    assert message.subject == "Mainland Supplies Ltd: INV-0001, ₦45,000.00"
    assert message.text.startswith(
        "Dear Mama Put Kitchen,\n\nplease pay ₦45,000.00 by 16 March 2026.\nThank you.\n\nInvoice:"
    )
    assert "Hello" not in message.text
    assert "please pay ₦45,000.00 by 16 March 2026.<br>Thank you.</p>" in message.html


def test_a_reminder_has_words_of_its_own(organization: Organization) -> None:
    put_in(organization, "reminder", subject="{number}: {days} late", text="It is {days} late.")
    make_overdue(organization, number="INV-7", due_on=date(2026, 2, 27))
    run(MONDAY)
    with freeze_time("2026-03-02 09:00"):
        message = kinds.get("reminder").compose(Delivery.objects.get())
    assert message.subject == "INV-7: 3 days late"
    assert message.text.startswith("It is 3 days late.")


def test_own_words_and_names_are_text_in_the_html(
    organization: Organization, invoice: Invoice
) -> None:
    put_in(organization, text="<b>{customer}</b> & you")
    Customer.objects.update(name="<script>alert(1)</script>")
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    assert "&lt;b&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;/b&gt; &amp; you" in message.html
    assert message.text.startswith("<b><script>alert(1)</script></b> & you")


def test_placeholders_are_filled_in_once(organization: Organization, invoice: Invoice) -> None:
    put_in(organization, subject="For {customer}")
    Customer.objects.update(name="{amount} {organization.email}")
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    assert message.subject == "For {amount} {organization.email}"


def test_what_came_in_otherwise_never_becomes_a_header(
    organization: Organization, invoice: Invoice
) -> None:
    put_in(organization, subject="Hello\r\nBcc: z@z.example {customer}")
    Customer.objects.update(name="A\r\nX-Evil: 1\u2028\u0000"[:-1])
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    assert message.subject == "Hello Bcc: z@z.example A X-Evil: 1"


def test_an_emoji_of_several_parts_stays_whole_in_a_subject(invoice: Invoice) -> None:
    Organization.objects.update(name="👩‍👩‍👧 Cakes")
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    assert message.subject == "Invoice INV-0001 from 👩‍👩‍👧 Cakes"


def test_the_sender_name_is_quoted_as_headers_want_it(invoice: Invoice) -> None:
    Organization.objects.update(sender_name='Sol, Inc "Ventas" (BR)')
    message = kinds.get("invoice").compose(factories.make_delivery(invoice))
    assert message.from_address == ('"Sol, Inc \\"Ventas\\" (BR)" <invoices@invoicehub.example>')


# What may be entered --------------------------------------------------------------------------


def test_an_owner_puts_in_words(as_owner: Client, organization: Organization) -> None:
    answer = save(as_owner, subject="Bill {number}", text="Dear {customer},\r\n\r\nhere it is.")
    assert answer.headers["Location"] == "/settings/texts#invoice"
    words = EmailText.objects.get(organization=organization)
    assert (words.kind, words.subject) == ("invoice", "Bill {number}")
    assert save(as_owner, subject="", text="").status_code == 302
    assert EmailText.objects.get().subject == ""


@pytest.mark.parametrize(
    ("kind", "unknown"),
    [
        ("invoice", "{nmber}"),
        ("invoice", "{days}"),
        ("reminder", "{}"),
        ("reminder", "{number.__class__}"),
        ("invoice", "{ number }"),
        ("invoice", "{0}"),
    ],
)
def test_an_unknown_placeholder_is_refused_with_the_known_ones(
    as_owner: Client, kind: str, unknown: str
) -> None:
    for field in ("subject", "text"):
        page = text(save(as_owner, kind, **{field: f"Hello {unknown}"}))
        assert f"There is no {unknown}. What you can use: {{number}}, {{customer}}" in page
    assert not EmailText.objects.exists()


@pytest.mark.parametrize("subject", ["a\nBcc: b", "a\rb", "a\u2028b", "a\x1bb", "x" * 241])
def test_a_subject_is_one_line_without_control_characters(as_owner: Client, subject: str) -> None:
    assert 'class="errorlist"' in text(save(as_owner, subject=subject))
    assert not EmailText.objects.exists()


def test_a_text_of_any_length_is_not_taken(as_owner: Client) -> None:
    assert 'class="errorlist"' in text(save(as_owner, text="x" * 5_001))


def test_a_kind_that_is_none_changes_nothing(as_owner: Client) -> None:
    assert as_owner.post("/settings/texts", {"kind": "x", "subject": "y"}).status_code == 200
    assert as_owner.post("/settings/preview", {"kind": "x"}).status_code == 404
    assert as_owner.get("/settings/preview/x").status_code == 404
    assert not EmailText.objects.exists()


def test_the_second_of_two_owners_is_told(as_owner: Client, organization: Organization) -> None:
    shown = seen(as_owner, "invoice")
    put_in(organization, subject="Theirs")
    form = {"kind": "invoice", "seen": shown, "subject": "Mine", "text": ""}
    page = text(as_owner.post("/settings/texts", form))
    assert "There is now: “Theirs”" in page
    assert 'value="Mine"' in page
    assert EmailText.objects.get().subject == "Theirs"


# The preview ----------------------------------------------------------------------------------


def test_the_preview_shows_what_is_typed_and_saves_nothing(
    as_owner: Client, invoice: Invoice
) -> None:
    form = {"kind": "invoice", "subject": "Bill {number}", "text": "Dear <i>{customer}</i>"}
    page = text(as_owner.post("/settings/preview", form))
    assert "Bill INV-0001" in page
    assert "As it would be sent for INV-0001." in page
    assert "Dear &lt;i&gt;Mama Put Kitchen&lt;/i&gt;" in page
    assert 'value="Bill {number}"' in page
    fragment = text(as_owner.post("/settings/preview", form, headers={"hx-request": "true"}))
    assert "<html" not in fragment
    assert "Bill INV-0001" in fragment
    letter = as_owner.get("/settings/preview/invoice?draft=1")
    assert "Dear &lt;i&gt;Mama Put Kitchen&lt;/i&gt;" in text(letter)
    assert "Dear" not in text(as_owner.get("/settings/preview/invoice"))
    assert not EmailText.objects.exists()


def test_the_previewed_letter_may_do_nothing(as_owner: Client) -> None:
    letter = as_owner.get("/settings/preview/reminder")
    policy = letter.headers["Content-Security-Policy"]
    assert policy.startswith(
        "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    )
    assert letter.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert '<iframe class="letter-frame" sandbox=""' in text(as_owner.get("/settings/texts"))


@freeze_time("2026-03-06 09:00")
def test_without_an_invoice_there_is_a_sample(as_owner: Client) -> None:
    page = text(as_owner.get("/settings/texts"))
    assert page.count("As it would be sent for a sample invoice.") == 2
    assert "Reminder: invoice INV-0042 is 6 days overdue" in page


def test_an_imported_invoice_that_cannot_be_written_is_passed_over(
    as_owner: Client, organization: Organization
) -> None:
    factories.make_invoice(organization, currency="XYZ")
    assert "sample invoice" in text(as_owner.get("/settings/texts"))


def test_a_mistake_is_told_in_place_of_the_preview(as_owner: Client) -> None:
    form = {"kind": "invoice", "subject": "{nmber}", "text": ""}
    fragment = text(as_owner.post("/settings/preview", form, headers={"hx-request": "true"}))
    assert "There is no {nmber}" in fragment
    assert "<iframe" not in fragment
    assert "There is no {nmber}" in text(as_owner.post("/settings/preview", form))


# Who ------------------------------------------------------------------------------------------


def test_a_viewer_reads_the_letters_and_changes_nothing(client: Client, viewer: User) -> None:
    client.force_login(viewer)
    assert "<textarea" not in text(client.get("/settings/texts"))
    assert "Kind regards" in text(client.get("/settings/preview/invoice"))
    for address in ("/settings/texts", "/settings/preview"):
        assert client.post(address, {"kind": "invoice"}).status_code == 403


def test_nobody_sees_another_organizations_words(
    client: Client, outsider: User, organization: Organization, invoice: Invoice
) -> None:
    put_in(organization, subject="Secret words")
    client.force_login(outsider)
    page = text(client.get("/settings/texts"))
    assert "Secret words" not in page
    assert "INV-0001" not in page


def test_each_address_takes_its_methods_only(as_owner: Client) -> None:
    assert as_owner.get("/settings/preview").status_code == 405
    assert as_owner.post("/settings/preview/invoice").status_code == 405
    assert as_owner.delete("/settings/texts").status_code == 405


@pytest.mark.parametrize(("now", "days"), [("2026-03-02 09:00", "1 day"), ("2026-03-04", "3 days")])
def test_a_reminders_days_are_those_when_it_goes_out(
    organization: Organization, now: str, days: str
) -> None:
    make_overdue(organization, number="INV-8", due_on=date(2026, 3, 1))
    run(MONDAY)
    with freeze_time(now):
        message = kinds.get("reminder").compose(Delivery.objects.get())
    assert message.subject == f"Reminder: invoice INV-8 is {days} overdue"
