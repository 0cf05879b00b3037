"""manage.py check_ledger names whatever somebody has broken by hand, and nothing else."""

import contextlib
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django.fixtures import Settings

from deliveries import ledger
from deliveries.models import Delivery
from invoices.models import Invoice, Organization
from invoices.voiding import void
from tests import factories
from tests.ledger.steps import (
    KEY_LIFETIME,
    REFUSED,
    RETRY,
    SENT,
    UNKNOWN,
    at,
    claim_one,
    fresh,
    hand_over,
    replay,
    settle,
)


def check() -> str:
    """Return what it says, after a slash for each line."""
    out = StringIO()
    with contextlib.suppress(CommandError):
        call_command("check_ledger", stdout=out)
    return "/".join(out.getvalue().splitlines()[1:])


def run(statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements)


@pytest.fixture
def sent(delivery: Delivery) -> Delivery:
    claim = claim_one()
    hand_over(claim)
    settle(claim, SENT, now=at(2))
    return fresh(delivery)


_OPEN = "status = 'queued', finished_at = NULL, sent_at = NULL"
_DEAD = "status = 'dead', dead_reason = 'rejected', last_error = 'no', sent_at = NULL"

# The parents are named ONLY, where a harm is meant for the live row.
_SECOND = """
    INSERT INTO deliveries_delivery
        (organization_id, invoice_id, kind, lane, reference, dedupe_key, idempotency_key, status,
         claims, attempts, lease_token, fair_tag, correlation_id, provider_message_id, last_error,
         dead_reason, sent_at, finished_at)
    SELECT organization_id, invoice_id, kind, lane, reference, dedupe_key || 'x',
        idempotency_key || 'x', status, claims, attempts, lease_token, fair_tag, correlation_id,
        provider_message_id || 'x', '', '', sent_at, finished_at FROM ONLY deliveries_delivery
"""


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (
            f"UPDATE deliveries_delivery SET {_OPEN}",
            "a delivery's last step says otherwise than its state: invoice:",
        ),
        (
            f"UPDATE deliveries_delivery SET {_DEAD}",
            "a delivery's last step says otherwise than its state: invoice:",
        ),
        (
            "UPDATE deliveries_delivery SET status = 'cancelled', sent_at = NULL",
            "a delivery's last step says otherwise than its state: invoice:",
        ),
        (
            (
                "INSERT INTO deliveries_deliveryevent "
                "(delivery_id, at, type, worker, correlation_id, sentence, details) "
                "SELECT delivery_id, at, type, worker, correlation_id, sentence, details "
                "FROM deliveries_deliveryevent WHERE type = 'sent'"
            ),
            "a delivery's timeline says twice that it was sent: invoice:",
        ),
        (
            (
                "INSERT INTO deliveries_archivedevent SELECT * FROM ONLY deliveries_deliveryevent; "
                "DELETE FROM ONLY deliveries_deliveryevent"
            ),
            "a step does not stand beside its delivery, live or archived: invoice:",
        ),
        (
            "DELETE FROM deliveries_message",
            "a sent delivery has no message under its key: invoice:",
        ),
        (
            "UPDATE deliveries_message SET idempotency_key = 'delivery-other'",
            "a sent delivery has no message under its key: invoice:",
        ),
        (
            "UPDATE deliveries_message SET text = '', html = ''",
            "a sent delivery's message is empty, and nobody dropped its content: invoice:",
        ),
        (
            (
                "INSERT INTO deliveries_archivedevent SELECT * FROM ONLY deliveries_deliveryevent; "
                "INSERT INTO deliveries_archiveddelivery SELECT * FROM ONLY deliveries_delivery; "
                "DELETE FROM ONLY deliveries_delivery"
            ),
            "a step does not stand beside its delivery, live or archived: invoice:",
        ),
        (
            (
                "DELETE FROM deliveries_message; DELETE FROM deliveries_deliveryevent; "
                "DELETE FROM deliveries_delivery"
            ),
            "an invoice was sent from here, but there is no e-mail of it: mainland-supplies INV",
        ),
        (
            f"UPDATE deliveries_delivery SET {_OPEN}; UPDATE invoices_invoice SET status = 'void'",
            "an invoice is void, but an e-mail of it waits: mainland-supplies INV",
        ),
        (
            _SECOND,
            "an invoice was sent twice, and nobody wanted it sent again: mainland-supplies INV",
        ),
        (
            f"{_SECOND}; UPDATE deliveries_delivery SET provider_message_id = 'msg-1'",
            "two sent deliveries share a provider's id: msg-1",
        ),
        (
            "UPDATE deliveries_delivery SET organization_id = organization_id + 1",
            "an e-mail is another organization's than its invoice: mainland-supplies INV",
        ),
    ],
)
def test_what_was_broken_by_hand_is_named(
    transactional_db: None, sent: Delivery, harm: str, said: str
) -> None:
    assert check() == "Everything agrees."
    run(f"SET session_replication_role = replica; {harm}; RESET ALL")
    assert f"1 times: {said}" in check()
    # The tables are emptied in an order that constraints must allow.
    run(
        "SET session_replication_role = replica; DELETE FROM deliveries_archivedevent; "
        "DELETE FROM deliveries_archiveddelivery; RESET ALL"
    )


def test_what_ordinary_work_leaves_agrees(
    delivery: Delivery, organization: Organization, owner: object
) -> None:
    """Refused, replayed, retried, sent; dead; cancelled; waiting."""
    actor = owner.pk  # type: ignore[attr-defined]
    settle(claim_one(), REFUSED)
    replay(delivery, actor, now=at(5))
    claim = claim_one(now=at(6))
    hand_over(claim, now=at(6))
    settle(claim, RETRY, now=at(7))
    assert check() == "Everything agrees."
    ledger.wake_due("email", limit=10, now=at(60))
    claim = claim_one(now=at(60))
    hand_over(claim, now=at(60))
    settle(claim, SENT, now=at(61))
    _dead, cancelled, _ = (
        factories.make_delivery(factories.make_invoice(organization)) for _ in range(3)
    )
    settle(claim_one(now=at(70)), UNKNOWN, now=at(71))
    ledger.cancel(cancelled.pk, actor_id=actor, why="no", now=at(72))
    assert check() == "Everything agrees."
    *_, _counts = ledger.reconcile(backup_taken_at=at(80), key_lifetime=KEY_LIFETIME)
    assert check() == "Everything agrees."


def test_what_a_log_told_of_needs_no_message(delivery: Delivery, owner: object) -> None:
    *_, _counts = ledger.reconcile(
        backup_taken_at=at(5),
        log=ledger.SentLog(ids={delivery.idempotency_key: "msg-7"}),
        key_lifetime=KEY_LIFETIME,
    )
    assert check() == "Everything agrees."


def test_contents_that_were_dropped_may_be_empty(sent: Delivery) -> None:
    run("UPDATE deliveries_message SET text = '', html = '', content_dropped_at = now()")
    assert check() == "Everything agrees."


def test_one_in_hand_when_its_invoice_was_voided_may_wait_for_its_end(
    delivery: Delivery, invoice: Invoice, organization: Organization, owner: object
) -> None:
    claim = claim_one()
    void(invoice.pk, reason="no", organization=organization, user_id=owner.pk)  # type: ignore[attr-defined]
    ledger.settle(claim, RETRY, worker="worker-1")
    assert fresh(delivery).status == Delivery.Status.RETRYING
    assert check() == "Everything agrees."


@pytest.mark.django_db
def test_the_demo_agrees() -> None:
    call_command("seed_demo", "--password", "a-demo-password", stdout=StringIO())
    assert Invoice.objects.filter(status="sent").exists()
    assert check() == "Everything agrees."


@pytest.mark.django_db
def test_the_demo_leaves_people_of_its_names_as_they_are(settings: Settings) -> None:
    """Where DEBUG is off: in development its logins get their password back."""
    person = User.objects.create_user("finance", password="a person's own")
    for _ in range(2):
        said = StringIO()
        call_command("seed_demo", "--password", "a-demo-password", stdout=said)
        person.refresh_from_db()
        assert person.check_password("a person's own")
        assert "finance" in said.getvalue().splitlines()[-1]
    assert User.objects.get(username="support").check_password("a-demo-password")
    settings.DEBUG = True
    call_command("seed_demo", "--password", "a-demo-password", stdout=StringIO())
    person.refresh_from_db()
    assert person.check_password("a-demo-password")
