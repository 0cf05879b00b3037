"""A mail server's own refusal of an address is known as a bounce is, and so is its taking it."""

import pytest

from deliveries import ledger
from deliveries.models import Delivery, Mailbox
from deliveries.outcomes import Dead, Sent
from tests import factories
from tests.ledger.steps import Reason, at, claim_one, hand_over, settle

A, B = "accounts@mamaput.example", "b@x.example"
REFUSED = Dead(
    reason=Reason.REJECTED,
    error="The mail server refused it.",
    may_have_accepted=False,
    refused={"Accounts@MamaPut.example": "the mailbox does not exist", "c@x.example": "?"},
)


def test_a_refused_recipient_refuses_from_then_on(delivery: Delivery) -> None:
    claim = claim_one()
    hand_over(claim, factories.make_message(to=[A, B]))
    settle(claim, REFUSED, now=at(5))
    box = Mailbox.objects.get()
    assert (box.address, box.refuses, box.came_back_at) == (A, True, at(5))
    assert (box.came_back_as, box.came_back_reason) == ("bounced", "the mailbox does not exist")


@pytest.mark.parametrize("took", [True, False])
def test_only_a_server_that_knows_its_recipients_clears_it(delivery: Delivery, took: bool) -> None:
    claim = claim_one()
    hand_over(claim, factories.make_message(to=[A, B]))
    settle(claim, REFUSED, now=at(5))
    factories.make_delivery(delivery.invoice, key="again", now=at(6))
    claim = claim_one(now=at(7))
    hand_over(claim, factories.make_message(to=[A, B]), now=at(7))
    settle(claim, Sent(provider_message_id="msg-9", took_recipients=took), now=at(8))
    assert Mailbox.objects.get().refuses is not took


def test_what_a_lost_lease_brings_is_not_noted(delivery: Delivery) -> None:
    stale = claim_one()
    hand_over(stale, factories.make_message(to=[A]))
    settle(stale, Sent(provider_message_id="msg-1"))
    assert ledger.settle_batch([(stale, REFUSED)], worker="worker-1", now=at(9)) == [stale]
    assert not Mailbox.objects.exists()
