"""What a customer has, or may have, does not read otherwise on our pages."""

from datetime import date

import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries import ledger
from deliveries.models import Delivery
from invoices import payments, resending, sending
from invoices.models import Invoice, Organization
from tests.invoices.drafts.form import edited
from tests.invoices.sending.test_resending import brought_to
from tests.ledger import steps
from tests.ledger.steps import REFUSED, UNKNOWN

DAY = date(2026, 3, 5)


def amount(invoice: Invoice) -> int | None:
    invoice.refresh_from_db()
    return invoice.amount_minor


@pytest.fixture
def maybe(invoice: Invoice) -> Delivery:
    """Dead, and perhaps arrived."""
    return brought_to(invoice, UNKNOWN)


@pytest.fixture
def cheaper(as_owner: Client, invoice: Invoice) -> dict[str, str]:
    """The form of the invoice's page as it was before, with another price."""
    return edited(as_owner, invoice, **{"lines-0-unit_price": "1.00"})


def test_what_may_have_arrived_is_not_edited(
    as_owner: Client, invoice: Invoice, cheaper: dict[str, str], maybe: Delivery
) -> None:
    before = amount(invoice)
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", cheaper).status_code == 409
    assert amount(invoice) == before


def test_neither_is_what_was_cancelled_though_it_may_have_arrived(
    as_owner: Client, invoice: Invoice, cheaper: dict[str, str], maybe: Delivery, owner: User
) -> None:
    ledger.cancel(maybe.pk, actor_id=owner.pk, why="Looked for.")
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", cheaper).status_code == 409


def test_what_was_cancelled_so_is_sent_again_only_with_a_reason(
    invoice: Invoice, maybe: Delivery, owner: User, organization: Organization
) -> None:
    ledger.cancel(maybe.pk, actor_id=owner.pk, why="Looked for.")
    click = sending.send(invoice.pk, organization=organization, user_id=owner.pk)
    assert click.pk == maybe.pk
    again = resending.send_again(
        invoice.pk,
        number=1,
        reason="Not in their log.",
        organization=organization,
        user_id=owner.pk,
    )
    assert again.pk != maybe.pk
    invoice.refresh_from_db()
    assert invoice.status == Invoice.Status.SENDING


def test_a_paid_invoice_that_becomes_unpaid_while_its_email_is_under_way_is_not_edited(
    as_owner: Client,
    invoice: Invoice,
    owner: User,
    organization: Organization,
    cheaper: dict[str, str],
) -> None:
    dead = brought_to(invoice, REFUSED)
    ledger.replay(dead.pk, actor_id=owner.pk, reason="Again.", key_lifetime=steps.KEY_LIFETIME)
    Invoice.objects.filter(pk=invoice.pk).update(status="paid", failure_reason="refused")
    payments.mark_unpaid(invoice.pk, organization=organization, user_id=owner.pk)
    invoice.refresh_from_db()
    assert invoice.status == Invoice.Status.SENDING
    assert as_owner.post(f"/invoices/{invoice.pk}/edit", cheaper).status_code == 409


def test_a_paid_invoices_email_is_not_retried(invoice: Invoice) -> None:
    dead = brought_to(invoice, REFUSED)
    invoice.status = Invoice.Status.PAID
    assert resending.retry_of(invoice, dead) is None


def test_another_day_of_payment_is_not_taken_silently(
    invoice: Invoice, owner: User, organization: Organization
) -> None:
    Invoice.objects.filter(pk=invoice.pk).update(status="sent")

    def pay(day: date) -> None:
        payments.mark_paid(invoice.pk, day=day, organization=organization, user_id=owner.pk)

    pay(DAY)
    pay(DAY)
    with pytest.raises(payments.WrongState, match="5 Mar 2026"):
        pay(DAY.replace(day=6))


def test_a_removed_customer_is_told_before_the_click(as_owner: Client, invoice: Invoice) -> None:
    invoice.customer.removed_at = steps.NOW
    invoice.customer.save()
    assert (
        "was removed: restore the customer"
        in as_owner.get(f"/invoices/{invoice.pk}").content.decode()
    )
