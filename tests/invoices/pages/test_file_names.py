"""What a document is called cannot leave its header, whoever named the invoice, and whenever."""

from typing import Any

import pytest
from django.test import Client

from deliveries.models import Delivery
from invoices.models import Invoice, Organization
from tests import factories
from tests.invoices.pages.reading import stored_pdf
from tests.ledger import steps

pytestmark = pytest.mark.thorough

NAMES = ["a\r\nX-Evil: 1", 'a"; x="', "a\nb", "a\tb", "\u202efdp.exe", "../../x", "a;b", "Nº 5/é"]


def assert_well_named(answer: Any) -> None:
    assert answer.status_code == 200
    assert "X-Evil" not in answer.headers
    disposition = answer.headers["Content-Disposition"]
    assert disposition.startswith("inline; filename")
    assert disposition.isascii()
    assert disposition.isprintable()
    assert disposition.count('"') in {0, 2}
    assert "/" not in disposition
    assert "%E2%80%AE" not in disposition
    assert disposition.rstrip('"').endswith(".pdf")


@pytest.mark.parametrize("name", NAMES)
def test_a_made_pdf_is_well_named(as_owner: Client, organization: Organization, name: str) -> None:
    invoice = factories.make_invoice(organization)
    Invoice.objects.update(number=name)
    assert_well_named(as_owner.get(f"/invoices/{invoice.pk}/pdf"))


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_pdf_is_well_named(as_owner: Client, delivery: Delivery, name: str) -> None:
    part = stored_pdf(b"%PDF-as-sent") | {"filename": f"{name}.pdf"}
    steps.hand_over(steps.claim_one(), factories.make_message(attachments=[part]))
    assert_well_named(as_owner.get(f"/invoices/{delivery.invoice_id}/pdf"))
