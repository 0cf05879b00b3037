"""manage.py archive_deliveries and check_ledger, as cron and people call them."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from deliveries import ledger
from deliveries.models import Delivery, Message, ProviderEvent
from invoices.models import Invoice
from tests import factories
from tests.ledger.steps import SENT, claim_one, hand_over, settle
from tests.ledger.test_archiving import archived, bounce


def run(name: str, *arguments: str) -> str:
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def old(delivery: Delivery) -> Delivery:
    """A delivery sent long ago: in March 2026, and by now surely more than a day ago."""
    claim = claim_one()
    hand_over(claim)
    settle(claim, SENT)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_delivery SET created_at = now() - interval '400 days', "
            "finished_at = now() - interval '400 days'; "
            "UPDATE deliveries_message SET created_at = now() - interval '400 days'"
        )
    return Delivery.objects.get()


def test_it_archives_and_drops_and_does_nothing_the_second_time(old: Delivery) -> None:
    assert run("archive_deliveries") == (
        "1 deliveries archived, with 2 steps; "
        "the contents of 1 messages and 0 provider events dropped.\n"
    )
    assert archived() == [old.pk]
    assert run("archive_deliveries") == (
        "0 deliveries archived, with 0 steps; "
        "the contents of 0 messages and 0 provider events dropped.\n"
    )


def test_a_dry_run_counts_and_changes_nothing(old: Delivery) -> None:
    said = run("archive_deliveries", "--dry-run")
    assert said.startswith("1 deliveries would be archived, and the contents of 1 messages")
    assert archived() == []
    assert Message.objects.get().text


def test_how_old_is_old_can_be_said(old: Delivery, settings: Settings) -> None:
    settings.MESSAGE_RETENTION_DAYS = 1_000
    assert run("archive_deliveries", "--older-than", "401").startswith("0 deliveries archived")
    assert run("archive_deliveries", "--older-than", "399").startswith("1 deliveries archived")
    assert Message.objects.get().content_dropped_at is None


def test_old_provider_events_go_after_their_own_time(old: Delivery, settings: Settings) -> None:
    ledger.report(bounce(), now=factories.NOW)
    settings.PROVIDER_EVENT_RETENTION_DAYS = 30_000
    assert "1 messages and 0 provider events" in run("archive_deliveries", "--dry-run")
    assert "and 0 provider events dropped" in run("archive_deliveries")
    settings.PROVIDER_EVENT_RETENTION_DAYS = 2
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_providerevent SET received_at = now() - interval '3 days'"
        )
    assert "and 1 provider events dropped" in run("archive_deliveries", "--dry-run")
    assert ProviderEvent.objects.exists()
    assert "and 1 provider events dropped" in run("archive_deliveries")
    assert not ProviderEvent.objects.exists()


@pytest.mark.parametrize("days", ["0", "-1", "ninety", "1.5", "", "36501", "9" * 40, "٣"])
def test_nonsense_is_refused_with_exit_code_2(db: None, days: str) -> None:
    with pytest.raises(CommandError, match="from 1 to 36500") as error:
        run("archive_deliveries", f"--older-than={days}")
    assert error.value.returncode == 2


def test_the_pages_say_that_the_content_was_dropped(
    client: Client, old: Delivery, invoice: Invoice, owner: object, admin_client: Client
) -> None:
    run("archive_deliveries")
    client.force_login(owner)  # type: ignore[arg-type]
    page = client.get(f"/invoices/{invoice.pk}").content.decode()
    assert "Its text and its attachments were dropped on" in page
    assert client.get(f"/invoices/{invoice.pk}/pdf")["Content-Type"] == "application/pdf"
    message = Message.objects.get()
    support = admin_client.get(f"/admin/deliveries/message/{message.pk}/change/").content.decode()
    assert "Its text, HTML and attachments were dropped on" in support


# The books ---------------------------------------------------------------------------------------


def test_books_that_agree_are_said_to_agree(old: Delivery) -> None:
    run("archive_deliveries")
    assert run("check_ledger") == "0 live + 1 archived = 1 requested\nEverything agrees.\n"


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (
            "DELETE FROM deliveries_archiveddelivery",
            "a step belongs to a delivery that is gone",
        ),
        (
            "DELETE FROM deliveries_deliveryevent WHERE type = 'requested'",
            "a delivery was never requested: invoice:",
        ),
        (
            "DELETE FROM deliveries_deliveryevent WHERE type = 'sent'",
            "a sent delivery's timeline does not say so: invoice:",
        ),
        (
            "DELETE FROM deliveries_archivedevent; DELETE FROM deliveries_archiveddelivery",
            "a message belongs to a delivery that is gone: delivery-",
        ),
        (
            "UPDATE invoices_invoice SET status = 'sending'",
            "an invoice is being sent, but no e-mail of it is under way: mainland-supplies INV",
        ),
        (
            "UPDATE invoices_invoice SET status = 'failed', failure_reason = 'no'",
            "an invoice was not sent, but its last e-mail was or still may be",
        ),
        (
            "UPDATE invoices_invoice SET status = 'draft'",
            "an invoice is a draft, but an e-mail of it has left or may leave",
        ),
    ],
)
def test_whatever_does_not_agree_is_named(
    transactional_db: None, old: Delivery, harm: str, said: str
) -> None:
    run("archive_deliveries")
    with connection.cursor() as cursor:
        cursor.execute(f"SET session_replication_role = replica; {harm}; RESET ALL")
    out = StringIO()
    with pytest.raises(CommandError, match="contradicts itself") as error:
        call_command("check_ledger", stdout=out)
    assert error.value.returncode == 1
    assert f"1 times: {said}" in out.getvalue().replace("2 times", "1 times")
