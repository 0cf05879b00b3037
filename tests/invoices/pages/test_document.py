"""The PDF of an invoice's page."""

from django.test import Client

from deliveries.models import Delivery
from deliveries.outcomes import Sent
from invoices.models import Invoice, Organization
from tests import factories
from tests.invoices.pages.reading import stored_pdf
from tests.ledger import steps
from tests.reading import text


def test_a_drafts_pdf_is_made_now_and_may_be_framed_by_its_page(
    as_owner: Client, invoice: Invoice
) -> None:
    answer = as_owner.get(f"/invoices/{invoice.pk}/pdf")
    assert answer.status_code == 200
    assert answer.content.startswith(b"%PDF-")
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"] == 'inline; filename="INV-0001.pdf"'
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"


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
