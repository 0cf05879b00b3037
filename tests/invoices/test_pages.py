"""The finance pages through the client: who sees what, and what changes by itself."""

import base64
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from deliveries import ledger
from deliveries.models import Delivery, DeliveryEvent, WorkerPresence
from deliveries.outcomes import RetryLater, Sent
from invoices.models import Invoice, Member, Organization
from invoices.pages.panels import STEPS_SHOWN
from tests import factories
from tests.ledger import steps

HTMX = {"hx-request": "true"}


@pytest.fixture
def as_owner(client: Client, owner: User) -> Client:
    client.force_login(owner)
    return client


@pytest.fixture
def worker(db: None) -> WorkerPresence:
    return WorkerPresence.objects.create(
        name="worker-1", host="lagos-1", pid=1, version="0.1.0", threads=5
    )


def text(response: Any) -> str:
    assert response.status_code == 200
    content: str = response.content.decode()
    return content


def seen(page: str) -> str:
    found = re.search(r'hx-get="([^"]+)"', page)
    assert found is not None
    return found[1].replace("&amp;", "&")


# The list -------------------------------------------------------------------------------------


def test_the_list_shows_each_invoice_with_amount_customer_and_a_send_button(
    as_owner: Client, invoice: Invoice
) -> None:
    page = text(as_owner.get("/invoices"))
    for part in ("INV-0001", "Mama Put Kitchen", "accounts@mamaput.example", "₦45,000.00"):
        assert part in page
    assert f'action="/invoices/{invoice.pk}/send"' in page
    assert "Not sent yet" in page


def test_problems_stand_beside_the_button_before_the_click(
    as_owner: Client, organization: Organization
) -> None:
    factories.make_invoice(organization, amount_minor=None, email="orders@@palmwine.example")
    page = text(as_owner.get("/invoices"))
    assert "The invoice has no amount: enter its lines." in page
    assert "“orders@@palmwine.example” does not look like an e-mail address" in page
    assert "No amount" in page


def test_a_viewer_sees_no_button(client: Client, viewer: User, invoice: Invoice) -> None:
    client.force_login(viewer)
    for address in ("/invoices", f"/invoices/{invoice.pk}"):
        page = text(client.get(address))
        assert "INV-0001" in page
        assert "/send" not in page


def test_an_outsider_sees_nothing_of_it(client: Client, outsider: User, invoice: Invoice) -> None:
    client.force_login(outsider)
    assert "INV-0001" not in text(client.get("/invoices"))
    for part in ("", "/state", "/pdf"):
        assert client.get(f"/invoices/{invoice.pk}{part}").status_code == 404


def test_strangers_are_led_to_the_login(client: Client, invoice: Invoice) -> None:
    for part in ("", "/state", "/pdf"):
        address = f"/invoices/{invoice.pk}{part}"
        assert client.get(address).headers["Location"] == f"/login?next={address}"


def test_pages_are_only_read(as_owner: Client, invoice: Invoice) -> None:
    for part in ("", f"/{invoice.pk}", f"/{invoice.pk}/state", f"/{invoice.pk}/pdf"):
        assert as_owner.post(f"/invoices{part}").status_code == 405


def test_names_are_text_whatever_they_hold(as_owner: Client, organization: Organization) -> None:
    nasty = factories.make_invoice(organization, customer_name="<script>alert(1)</script>")
    for address in ("/invoices", f"/invoices/{nasty.pk}", f"/invoices/{nasty.pk}/state?part=row"):
        page = text(as_owner.get(address))
        assert "<script>alert" not in page
        if "state" not in address:
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_pages_hold_no_inline_script_or_style(as_owner: Client, invoice: Invoice) -> None:
    for address in ("/invoices", f"/invoices/{invoice.pk}"):
        page = text(as_owner.get(address))
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)


def test_an_empty_list_says_so(as_owner: Client) -> None:
    assert "No invoices yet" in text(as_owner.get("/invoices"))


def test_a_longer_list_takes_no_more_queries(
    as_owner: Client,
    organization: Organization,
    worker: WorkerPresence,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    # Session, user, membership; the page, its tabs' counts; deliveries, batches; what came back;
    # lane, workers; the header.
    queries = 12
    for total in (1, 12):
        while Invoice.objects.count() < total:
            factories.make_delivery(factories.make_invoice(organization))
        with django_assert_num_queries(queries):
            as_owner.get("/invoices")


# What changes by itself -----------------------------------------------------------------------


def test_what_is_under_way_is_asked_for_and_answered_only_when_it_changed(
    as_owner: Client, invoice: Invoice, worker: WorkerPresence
) -> None:
    delivery = factories.make_delivery(invoice)
    for address in ("/invoices", f"/invoices/{invoice.pk}"):
        assert as_owner.get(seen(text(as_owner.get(address))), headers=HTMX).status_code == 204
    poll = seen(text(as_owner.get("/invoices")))
    steps.settle(steps.claim_one(), Sent(provider_message_id="msg-1"))
    fragment = text(as_owner.get(poll, headers=HTMX))
    assert "Sent" in fragment
    assert "hx-trigger" not in fragment
    assert f"INV-0001: Sent {delivery_time(delivery)}" in fragment


def delivery_time(delivery: Delivery) -> str:
    delivery.refresh_from_db()
    assert delivery.sent_at is not None
    local = delivery.sent_at + timedelta(hours=1)  # Lagos.
    year = "" if local.year == timezone.now().year else f" {local.year}"
    return f"{local.day} {local:%b}{year}, {local:%H:%M}"


def test_what_is_final_is_not_asked_for(as_owner: Client, delivery: Delivery) -> None:
    steps.bring_to(delivery, "dead")
    for address in ("/invoices", f"/invoices/{delivery.invoice_id}"):
        page = text(as_owner.get(address))
        assert "The provider refused it (422): no such mailbox." in page
        assert "hx-trigger" not in page


def test_a_poll_costs_few_queries(
    as_owner: Client,
    delivery: Delivery,
    worker: WorkerPresence,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(8):
        as_owner.get(f"/invoices/{delivery.invoice_id}/state?part=row")


def test_a_poll_whose_session_ended_makes_the_page_reload(client: Client, invoice: Invoice) -> None:
    answer = client.get(f"/invoices/{invoice.pk}/state", headers=HTMX, follow=True)
    assert answer.headers["HX-Refresh"] == "true"
    assert answer.content == b""


# What holds up all e-mails --------------------------------------------------------------------


def test_no_worker_is_said_only_while_something_waits(
    as_owner: Client, organization: Organization, invoice: Invoice
) -> None:
    assert "No worker is running" not in text(as_owner.get("/invoices"))
    factories.make_delivery(invoice)
    assert "No worker is running" in text(as_owner.get("/invoices"))
    assert "No worker is running" in text(as_owner.get(f"/invoices/{invoice.pk}"))


def test_a_living_worker_is_not_missed(
    as_owner: Client, delivery: Delivery, worker: WorkerPresence
) -> None:
    assert "No worker is running" not in text(as_owner.get("/invoices"))
    worker.last_seen_at = timezone.now() - timedelta(minutes=2)
    worker.save()
    assert "No worker is running" in text(as_owner.get("/invoices"))


def test_one_organizations_waiting_is_not_told_to_another(
    client: Client, outsider: User, delivery: Delivery
) -> None:
    client.force_login(outsider)
    assert "No worker is running" not in text(client.get("/invoices"))


def test_a_paused_lane_is_said_with_its_reason_until_it_is_over(
    as_owner: Client, invoice: Invoice
) -> None:
    now = timezone.now()
    ledger.pause("email", reason="The provider’s quota is used up.", for_=timedelta(hours=1))
    assert "E-mail is paused: The provider’s quota is used up." in text(as_owner.get("/invoices"))
    ledger.resume("email", reason="The key is right again.")
    ledger.pause("email", reason="over", for_=timedelta(seconds=1), now=now - timedelta(hours=1))
    assert "E-mail is paused" not in text(as_owner.get("/invoices"))


def test_an_outage_is_said(as_owner: Client, delivery: Delivery) -> None:
    ledger.record_results("email", reached=False, failures=5)
    assert "The e-mail provider is failing." in text(as_owner.get("/invoices"))


# An invoice's page ----------------------------------------------------------------------------


def test_the_page_adds_up_as_the_pdf_does(as_owner: Client, organization: Organization) -> None:
    invoice = factories.make_invoice(organization, notes="Deliver by the back door.")
    invoice.lines.update(tax_rate="7.5")
    page = text(as_owner.get(f"/invoices/{invoice.pk}"))
    for part in ("Rice, 50 kg bags", "45,000.00", "Tax 7.5% on ₦45,000.00", "₦3,375.00"):
        assert part in page
    assert "₦48,375.00" in page
    assert "Deliver by the back door." in page


def test_the_timeline_tells_every_step_in_order_with_who_and_when(
    as_owner: Client, owner: User, invoice: Invoice
) -> None:
    for request_id in ("req-41", "req-42"):
        as_owner.post(f"/invoices/{invoice.pk}/send", headers={"x-request-id": request_id})
    claim = steps.claim_one()
    retry = RetryLater(error="It answered 503", delay=timedelta(0), may_have_accepted=True)
    ledger.settle(claim, retry, worker="lagos-1:7")
    page = text(as_owner.get(f"/invoices/{invoice.pk}"))
    told = [
        "Sending was requested.",
        "by owner",
        "Sending was requested again; it had been requested already.",
        "req-42",
        "Attempt 1 failed: It answered 503",
        "worker lagos-1:7",
    ]
    timeline = page[page.index("What happened") :]
    places = [timeline.index(part) for part in told]
    assert places == sorted(places)
    assert '<code class="whole">req-41</code>' in page
    event = Delivery.objects.get().events.first()
    assert event is not None
    assert f'title="{event.at:%Y-%m-%d %H:%M:%S} UTC"' in timeline


def test_an_endless_timeline_shows_its_end(as_owner: Client, delivery: Delivery) -> None:
    clicks = [
        DeliveryEvent(
            delivery=delivery,
            type=DeliveryEvent.Type.REQUESTED_AGAIN,
            sentence="Sending was requested again.",
            correlation_id=f"click-{number}",
        )
        for number in range(STEPS_SHOWN)
    ]
    DeliveryEvent.objects.bulk_create(clicks)
    page = text(as_owner.get(f"/invoices/{delivery.invoice_id}"))
    assert "Only the last steps are shown here." in page
    assert "Sending was requested.<" not in page
    assert page.index("click-0<") < page.index(f"click-{STEPS_SHOWN - 1}<")


def test_the_page_shows_the_email_exactly_as_it_was_stored(
    as_owner: Client, delivery: Delivery
) -> None:
    claim = steps.claim_one()
    steps.hand_over(claim, factories.make_message(text="Dear <customer>,\n\npay."))
    steps.settle(claim, Sent(provider_message_id="msg-1"))
    page = text(as_owner.get(f"/invoices/{delivery.invoice_id}"))
    assert "The e-mail as it was sent" in page
    assert "Dear &lt;customer&gt;,\n\npay." in page
    assert "msg-1" in page


# The PDF --------------------------------------------------------------------------------------


def test_a_drafts_pdf_is_made_now_and_may_be_framed_by_its_page(
    as_owner: Client, invoice: Invoice
) -> None:
    answer = as_owner.get(f"/invoices/{invoice.pk}/pdf")
    assert answer.status_code == 200
    assert answer.content.startswith(b"%PDF-")
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"] == 'inline; filename="INV-0001.pdf"'
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"


def stored_pdf(content: bytes) -> dict[str, str]:
    return {
        "filename": "INV-0001.pdf",
        "content_type": "application/pdf",
        "content": base64.b64encode(content).decode(),
    }


def test_a_sent_invoices_pdf_is_the_one_that_was_sent(as_owner: Client, delivery: Delivery) -> None:
    claim = steps.claim_one()
    steps.hand_over(claim, factories.make_message(attachments=[stored_pdf(b"%PDF-as-sent")]))
    address = f"/invoices/{delivery.invoice_id}/pdf"
    assert as_owner.get(address).content == b"%PDF-as-sent"
    steps.settle(claim, Sent(provider_message_id="msg-1"))
    assert as_owner.get(address).content == b"%PDF-as-sent"


def test_after_a_refusal_the_pdf_is_what_would_be_sent_now(
    as_owner: Client, delivery: Delivery
) -> None:
    claim = steps.claim_one()
    steps.hand_over(claim, factories.make_message(attachments=[stored_pdf(b"%PDF-refused")]))
    steps.settle(claim, steps.REFUSED)
    content = as_owner.get(f"/invoices/{delivery.invoice_id}/pdf").content
    assert content.startswith(b"%PDF-1")


def test_without_an_amount_there_is_no_pdf_and_the_page_says_why(
    as_owner: Client, organization: Organization
) -> None:
    bare = factories.make_invoice(organization, amount_minor=None)
    answer = as_owner.get(f"/invoices/{bare.pk}/pdf")
    assert answer.status_code == 404
    assert "The invoice has no amount." in answer.content.decode()
    assert "/pdf" not in text(as_owner.get(f"/invoices/{bare.pk}"))


# People ---------------------------------------------------------------------------------------


def test_logging_in_leads_to_the_invoices_and_out_again_to_the_login(
    client: Client, owner: User
) -> None:
    assert client.get("/", follow=True).redirect_chain[-1][0] == "/login?next=/invoices"
    answer = client.post("/login", {"username": "owner", "password": "a long password 1"})
    assert answer.headers["Location"] == "/"
    assert client.get("/").headers["Location"] == "/invoices"
    assert client.get("/logout").status_code == 405
    assert client.post("/logout").headers["Location"] == "/login"


def test_logging_in_after_a_click_leads_to_the_invoice_not_to_the_buttons_address(
    client: Client, owner: User, invoice: Invoice
) -> None:
    answer = client.post(
        "/login",
        {
            "username": "owner",
            "password": "a long password 1",
            "next": f"/invoices/{invoice.pk}/send",
        },
    )
    assert answer.headers["Location"] == f"/invoices/{invoice.pk}"


def test_a_wrong_password_is_said(client: Client, owner: User) -> None:
    page = text(client.post("/login", {"username": "owner", "password": "wrong"}))
    assert "Please enter a correct username and password" in page


def test_support_without_an_organization_is_led_to_the_admin(client: Client, db: None) -> None:
    User.objects.create_user("support", password="a long password 1", is_staff=True)
    form = {"username": "support", "password": "a long password 1", "next": "/invoices"}
    answer = client.post("/login", form, follow=True)
    assert [address for address, _ in answer.redirect_chain] == ["/", "/admin/"]


def test_only_staff_sees_the_admins_address(as_owner: Client, owner: User) -> None:
    assert "/admin/" not in text(as_owner.get("/invoices"))
    User.objects.update(is_staff=True)
    assert "/admin/" in text(as_owner.get("/invoices"))


def test_a_user_of_two_organizations_switches_between_them(as_owner: Client, owner: User) -> None:
    assert "/organization" not in text(as_owner.get("/invoices"))
    other = factories.make_organization("lagoon", name="Lagoon Trading")
    Member.objects.create(organization=other, user=owner)
    factories.make_invoice(other, number="LAG-1")
    assert "Lagoon Trading" in text(as_owner.get("/invoices"))
    assert as_owner.get("/organization").status_code == 405
    assert as_owner.post("/organization", {"organization": "lagoon"}).status_code == 302
    assert "LAG-1" in text(as_owner.get("/invoices"))


def test_nobody_switches_to_an_organization_of_others(
    as_owner: Client, outsider: User, organization: Organization
) -> None:
    assert as_owner.post("/organization", {"organization": "nordlicht"}).status_code == 404
    assert organization.name in text(as_owner.get("/invoices"))


# Probes and failures --------------------------------------------------------------------------


def test_the_process_answers_without_the_database(client: Client) -> None:
    assert text(client.get("/healthz")) == "ok"


def test_ready_means_that_the_database_answers_with_every_migration(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/readyz").json() == {"status": "ready"}
    monkeypatch.setattr(
        "django.db.migrations.recorder.MigrationRecorder.applied_migrations", lambda self: {}
    )
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "Migrations are missing: " in answer.json()["problem"]


def test_an_unknown_address_is_a_page_for_people_and_json_for_programs(
    client: Client, db: None
) -> None:
    page = client.get("/nonsense", headers={"accept": "text/html"})
    assert (page.status_code, "There is nothing here" in page.content.decode()) == (404, True)
    answer = client.get("/nonsense")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_fault_of_ours_is_a_page_that_needs_no_database(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.raise_request_exception = False
    monkeypatch.setattr("invoicehub.health._problem", lambda: 1 / 0)
    page = client.get("/readyz", headers={"accept": "text/html"})
    assert page.status_code == 500
    assert "The fault is ours" in page.content.decode()
