"""What holds up all e-mails is said on every page."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from deliveries import ledger
from deliveries.models import Delivery, WorkerPresence
from invoices.models import Invoice, Organization
from tests import factories
from tests.reading import text


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
