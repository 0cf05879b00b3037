"""Whose mailbox came back: ties, one message's own events, and several recipients."""

from itertools import permutations
from typing import Any

import pytest

from deliveries import ledger
from deliveries.models import Delivery, DeliveryEvent, Mailbox, ProviderEvent
from deliveries.outcomes import Sent
from tests import factories
from tests.events.test_reports import ADDRESS, report, told
from tests.ledger.steps import SENT, at, claim_one, hand_over, settle


def boxes() -> dict[str, bool]:
    return {box.address: box.refuses for box in Mailbox.objects.all()}


def another(delivery: Delivery) -> None:
    """Send one more e-mail of the invoice, as msg-42."""
    factories.make_delivery(delivery.invoice, key="again")
    claim = claim_one(now=at(70))
    hand_over(claim, now=at(70))
    settle(claim, Sent(provider_message_id="msg-42"), now=at(70))


@pytest.mark.parametrize("outcome", ["bounced", "suppressed", "complained"])
def test_of_two_told_of_one_moment_the_refusal_counts(sent: Delivery, outcome: str) -> None:
    another(sent)
    report(told(outcome, seconds=80), told("delivered", seconds=80, provider_message_id="msg-42"))
    assert boxes() == {ADDRESS: True}


def test_what_came_back_clears_nothing_by_its_own_delivered(sent: Delivery) -> None:
    report(told("bounced", seconds=60), told("delivered", seconds=90))
    assert boxes() == {ADDRESS: True}


def test_another_message_that_got_there_later_clears_it(sent: Delivery) -> None:
    another(sent)
    report(
        told("bounced", seconds=60),
        told("delivered", seconds=90),
        told("delivered", 2, seconds=100, provider_message_id="msg-42"),
    )
    assert boxes() == {ADDRESS: False}


@pytest.mark.thorough
def test_every_order_says_the_same_of_a_mailbox(sent: Delivery) -> None:
    sequence = [
        told("delivered", seconds=90),
        told("suppressed", seconds=10),
        told("bounced", seconds=60, reason="a"),
        told("bounced", 2, seconds=50, reason="b"),
    ]
    endings = []
    for order in permutations(sequence):
        Mailbox.objects.all().delete()
        ProviderEvent.objects.all().delete()
        DeliveryEvent.objects.filter(type__in=Delivery.AfterSending.values).delete()
        Delivery.objects.update(after_sending="", after_sending_at=None, after_sending_reason="")
        report(*order)
        told_of = ("address", "arrived_at", "came_back_at", "came_back_as", "came_back_reason")
        endings.append(list(Mailbox.objects.values(*told_of)))
    assert all(each == endings[0] for each in endings)
    assert boxes() == {ADDRESS: True}


# Several recipients ---------------------------------------------------------------------------

A, B, C = "a@x.example", "b@x.example", "c@x.example"


def saying(text: str, **values: Any) -> Any:
    payload = {"data": {"to": [A, B], "bounce": {"type": "Permanent", "message": text}}}
    return told("bounced", payload=payload, **values)


@pytest.fixture
def to_three(delivery: Delivery) -> Delivery:
    claim = claim_one()
    hand_over(claim, factories.make_message(to=[A, B], cc=[f"Boss <{C}>"]))
    settle(claim, SENT)
    return delivery


@pytest.mark.parametrize(
    ("text", "address", "blamed"),
    [
        ("smtp; 550 5.1.1 <B@x.example>: no such user", "", [B]),
        ("rfc822;c@x.example; 550 5.1.1 unknown.", "", [C]),
        ("550 5.1.1 a@x.example and b@x.example", "", []),
        ("550 5.1.1 no such user", "", []),
        ("550 5.1.1 aa@x.example, b@x.example.org", "", []),
        ("550 5.1.1 no such user", A, [A]),
        # The text knows better than the event's list of names.
        ("550 5.1.1 c@x.example unknown", A, [C]),
        ("550 5.1.1 a@x.example and b@x.example", C, []),
        ("550 ask postmaster@x.example", A, [A]),
    ],
)
def test_the_one_whom_the_text_names_is_blamed(
    to_three: Delivery, text: str, address: str, blamed: list[str]
) -> None:
    report(saying(text, address=address))
    assert list(boxes()) == blamed
    assert list(ledger.blamed([to_three.pk]).get(to_three.pk, ())) == blamed
