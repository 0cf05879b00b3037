"""Events that only our tag ties to a delivery, before it is settled: applied by the settling."""

import pytest

from deliveries import ledger
from deliveries.models import Delivery
from tests.events.test_reports import ending, report, told
from tests.ledger.programs import Programs, result
from tests.ledger.steps import SENT, at, claim_one, fresh, hand_over, settle

pytestmark = pytest.mark.thorough

# Without an id of a message, and with one that is none of ours.
IDS = pytest.mark.parametrize("message_id", ["", "other"])


@IDS
def test_an_event_that_only_our_tag_ties_waits_for_the_settling(
    delivery: Delivery, message_id: str
) -> None:
    claim = claim_one()
    hand_over(claim)
    report(told("bounced", provider_message_id=message_id, tag=delivery.idempotency_key))
    assert delivery.provider_events.get().state == "waiting"
    settle(claim, SENT)
    assert fresh(delivery).after_sending == "bounced"
    assert delivery.provider_events.get().state == "applied"


@IDS
def test_before_and_after_the_settling_it_ends_the_same(
    delivery: Delivery, message_id: str
) -> None:
    claim = claim_one()
    hand_over(claim)
    told_of_it = [
        told(word, provider_message_id=message_id, tag=delivery.idempotency_key)
        for word in ("delivered", "complained", "bounced")
    ]
    report(*told_of_it[:2])
    settle(claim, SENT)
    report(told_of_it[2], told("delivered", 2))
    assert ending(delivery)["after_sending"] == "complained"
    told_types = [event.type for event in delivery.events.all()]
    assert sorted(told_types[-3:]) == ["bounced", "complained", "delivered"]


def test_what_both_tag_and_id_tie_is_applied_once(delivery: Delivery) -> None:
    claim = claim_one()
    hand_over(claim)
    report(told("bounced", tag=delivery.idempotency_key))
    settle(claim, SENT)
    assert delivery.events.filter(type="bounced").count() == 1
    assert fresh(delivery).after_sending == "bounced"


def test_another_deliverys_events_are_left_alone(delivery: Delivery) -> None:
    claim = claim_one()
    hand_over(claim)
    report(told("bounced", provider_message_id="", tag="delivery-of-somebody-else"))
    settle(claim, SENT)
    assert fresh(delivery).after_sending == ""


@IDS
def test_while_the_settling_is_not_committed_the_event_waits_for_it(
    program: Programs, delivery: Delivery, message_id: str
) -> None:
    claim, worker, provider = claim_one(), program(), program()
    worker.begin()
    worker.do(settle, claim, SENT)
    event = told("bounced", provider_message_id=message_id, tag=delivery.idempotency_key)
    reported = provider.start(report, event)
    provider.wait_until_blocked()
    worker.commit()
    assert result(reported) == [True]
    assert fresh(delivery).after_sending == "bounced"


@IDS
def test_not_committed_when_its_message_settles_it_is_applied_by_the_settling(
    program: Programs, delivery: Delivery, message_id: str
) -> None:
    claim, worker, provider = claim_one(), program(), program()
    provider.begin()
    event = told("bounced", provider_message_id=message_id, tag=delivery.idempotency_key)
    provider.do(report, event)
    settled = worker.start(settle, claim, SENT)
    worker.wait_until_blocked()
    provider.commit()
    result(settled)
    assert fresh(delivery).after_sending == "bounced"


def test_the_sweep_finds_what_waits_by_our_tag(delivery: Delivery) -> None:
    claim_one()
    report(told("bounced", provider_message_id="", tag=delivery.idempotency_key))
    # As a worker of an older version leaves it.
    Delivery.objects.update(
        status="sent",
        sent_at=at(),
        finished_at=at(),
        provider_message_id="msg-41",
        locked_by=None,
        locked_until=None,
    )
    assert ledger.follow_up_reports(now=at(3700)) == 1
    assert fresh(delivery).after_sending == "bounced"
    assert ledger.follow_up_reports(now=at(3700)) == 0
