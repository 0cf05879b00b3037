"""Whoever acts on a delivery while it is moved to the archive sees it, and not an older one."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from deliveries import ledger
from deliveries.models import Delivery
from invoices import sending
from invoices.models import Invoice, Organization
from tests.ledger.programs import Program, Programs, in_transaction, result
from tests.ledger.steps import (
    KEY_LIFETIME,
    UNKNOWN,
    at,
    claim_one,
    fresh,
    hand_over,
    settle,
)


@pytest.fixture
def maybe(program: Programs, delivery: Delivery, owner: User) -> Delivery:
    """Cancelled long ago, though the customer may have it."""
    claim = claim_one()
    hand_over(claim)
    settle(claim, UNKNOWN)
    ledger.cancel(delivery.pk, actor_id=owner.pk, why="They have it.", now=at(5))
    return fresh(delivery)


def archive() -> int:
    steps = ledger.archive(older_than=timedelta(days=90), now=at(days=100))
    return sum(moved.deliveries for moved in steps)


@pytest.fixture
def archiver(program: Programs, maybe: Delivery) -> Program:
    """Has moved it, and not committed yet."""
    moving = program()
    moving.begin()
    assert moving.do(archive) == 1
    return moving


def test_an_invoice_that_the_customer_may_have_holds_fast_beside_the_archiver(
    program: Programs,
    archiver: Program,
    maybe: Delivery,
    invoice: Invoice,
    organization: Organization,
) -> None:
    person = program()

    def look() -> tuple[int | None, bool]:
        last = sending.lock_last_delivery(invoice.pk, organization)
        return last.pk if last else None, sending.holds_fast(last)

    looking = person.start(in_transaction, look)
    person.wait_until_blocked()
    archiver.commit()
    assert result(looking) == (maybe.pk, True)


def test_a_replay_beside_the_archiver_says_why_not(
    program: Programs, archiver: Program, maybe: Delivery, owner: User
) -> None:
    person = program()

    def replay() -> str:
        batch = ledger.replay_many(
            [maybe.pk], actor_id=owner.pk, reason="again", key_lifetime=KEY_LIFETIME
        )
        return batch.skipped[maybe.pk]

    replaying = person.start(replay)
    person.wait_until_blocked()
    archiver.commit()
    assert result(replaying) == "already cancelled"


def test_a_cancelling_beside_the_archiver_says_why_not(
    program: Programs, archiver: Program, maybe: Delivery, owner: User
) -> None:
    person = program()

    def cancel() -> str:
        return ledger.cancel_many([maybe.pk], actor_id=owner.pk, why="no").skipped[maybe.pk]

    cancelling = person.start(cancel)
    person.wait_until_blocked()
    archiver.commit()
    assert result(cancelling) == "already cancelled"
