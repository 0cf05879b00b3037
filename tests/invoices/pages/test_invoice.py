"""An invoice's page."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.test import Client

from deliveries import ledger
from deliveries.models import Delivery, DeliveryEvent
from deliveries.outcomes import RetryLater, Sent
from invoices.models import Invoice, Organization
from invoices.pages.panels import STEPS_SHOWN
from tests import factories
from tests.ledger import steps
from tests.reading import text


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
