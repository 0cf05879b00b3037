"""A draft is changed, by one or two people."""

from datetime import date
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client

from invoices import drafting
from invoices.draft import Draft, DraftLine
from invoices.models import Invoice, Organization
from tests import factories
from tests.invoices.drafts.form import edited, shown
from tests.ledger import steps
from tests.reading import text


def test_a_draft_is_changed_with_its_lines_and_amount(as_owner: Client, invoice: Invoice) -> None:
    form = edited(as_owner, invoice, **{"lines-0-quantity": "3", "to": "pay@mamaput.example"})
    answer = as_owner.post(f"/invoices/{invoice.pk}/edit", form)
    assert answer.headers["Location"] == f"/invoices/{invoice.pk}"
    invoice.refresh_from_db()
    assert (invoice.amount_minor, invoice.to) == (13_500_000, ["pay@mamaput.example"])
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", form).status_code == 302


def test_what_two_people_save_does_not_overwrite_unseen(as_owner: Client, invoice: Invoice) -> None:
    form = edited(as_owner, invoice, notes="Mine")
    Invoice.objects.filter(pk=invoice.pk).update(notes="Theirs")
    page = text(as_owner.post(f"/invoices/{invoice.pk}/edit", form), 409)
    assert "Somebody else changed INV-0001" in page
    assert "Mine" in page
    invoice.refresh_from_db()
    assert invoice.notes == "Theirs"
    form["version"] = shown(page, "version")
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", form).status_code == 302
    invoice.refresh_from_db()
    assert invoice.notes == "Mine"


def test_a_draft_that_was_sent_meanwhile_does_not_change(
    as_owner: Client, owner: User, invoice: Invoice
) -> None:
    form = edited(as_owner, invoice, notes="Too late")
    steps.click_on_send(invoice, owner)
    page = text(as_owner.post(f"/invoices/{invoice.pk}/edit", form), 409)
    assert "INV-0001 is being sent: nothing was changed." in page
    assert "Too late" in page
    invoice.refresh_from_db()
    assert invoice.notes == ""


@pytest.mark.parametrize("status", ["sending", "sent", "paid", "void"])
def test_what_is_no_draft_has_no_form(as_owner: Client, invoice: Invoice, status: str) -> None:
    Invoice.objects.filter(pk=invoice.pk).update(status=status)
    answer = as_owner.get(f"/invoices/{invoice.pk}/edit")
    assert answer.headers["Location"] == f"/invoices/{invoice.pk}"
    assert f"/invoices/{invoice.pk}/edit" not in text(as_owner.get(f"/invoices/{invoice.pk}"))


def test_an_imported_amount_without_lines_survives_an_edit(
    as_owner: Client, organization: Organization
) -> None:
    imported = factories.make_invoice(organization, amount_minor=None)
    Invoice.objects.filter(pk=imported.pk).update(amount_minor=99)
    form = edited(as_owner, imported, notes="Checked")
    assert as_owner.post(f"/invoices/{imported.pk}/edit", form).status_code == 302
    imported.refresh_from_db()
    assert (imported.amount_minor, imported.notes) == (99, "Checked")


def test_a_taken_number_refuses_the_whole_change(as_owner: Client, invoice: Invoice) -> None:
    factories.make_invoice(invoice.organization, number="INV-0002")
    form = edited(as_owner, invoice, number="INV-0002", notes="x")
    assert "INV-0002 already" in text(as_owner.post(f"/invoices/{invoice.pk}/edit", form), 409)
    invoice.refresh_from_db()
    assert (invoice.notes, invoice.lines.count()) == ("", 1)


def test_the_rule_refuses_another_organizations_invoice(invoice: Invoice, outsider: User) -> None:
    theirs = Organization.objects.get(slug="nordlicht")
    draft = Draft(
        number="X",
        customer=invoice.customer,
        currency="EUR",
        issued_on=date(2026, 3, 2),
        due_on=date(2026, 3, 2),
        lines=(
            DraftLine(
                description="a", quantity=Decimal(1), unit_price_minor=1, tax_rate=Decimal(0)
            ),
        ),
    )
    with pytest.raises(Invoice.DoesNotExist):
        drafting.change(invoice.pk, draft, organization=theirs, version="", user_id=outsider.pk)
