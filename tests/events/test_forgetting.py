"""Old events are deleted; what they came to stays, and one that comes again does no harm."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from deliveries import ledger
from deliveries.models import Delivery, Mailbox, ProviderEvent
from tests.events.test_mailboxes import another
from tests.events.test_reports import ending, told
from tests.ledger.steps import UNKNOWN, at, claim_one, fresh, hand_over, settle

pytestmark = pytest.mark.thorough

RETENTION = timedelta(days=90)
LATER = at(days=91)


def forget(*, now: datetime = LATER, **options: Any) -> int:
    return max(ledger.forget_reports(older_than=RETENTION, now=now, **options), default=0)


def kept() -> list[str]:
    return list(ProviderEvent.objects.order_by("pk").values_list("event_id", flat=True))


def test_old_events_go_and_what_they_came_to_stays(sent: Delivery) -> None:
    ledger.report(told("bounced", reason="the mailbox does not exist"), now=at(60))
    before = ending(sent)
    assert forget() == 1
    assert kept() == []
    assert ending(sent) == before
    assert forget() == 0


def test_events_that_are_not_old_stay(sent: Delivery) -> None:
    ledger.report(told("delayed"), now=at(60))
    ledger.report(told("delivered"), now=at(days=30))
    assert ledger.count_forgettable(older_than=RETENTION, now=LATER) == 1
    assert forget() == 1
    assert kept() == ["evt-delivered-1"]


def test_they_go_page_by_page_to_where_nothing_is_old(sent: Delivery) -> None:
    for number in range(7):
        ledger.report(told("delivered", number), now=at(number))
    ledger.report(told("delivered", 7), now=at(days=30))
    assert list(ledger.forget_reports(older_than=RETENTION, at_once=3, now=LATER)) == [3, 6, 7]
    assert kept() == ["evt-delivered-7"]


def test_those_of_unknown_messages_and_types_go_too(sent: Delivery) -> None:
    ledger.report(told("bounced", provider_message_id="msg-of-somebody-else"), now=at(60))
    shelf = ProviderEvent.State.UNKNOWN_TYPE
    ledger.report(told("delivered", outcome=None, shelf=shelf), now=at(60))
    assert forget() == 2


def test_what_may_tell_a_person_whether_the_customer_has_it_stays(delivery: Delivery) -> None:
    claim = claim_one()
    hand_over(claim)
    settle(claim, UNKNOWN)
    ledger.report(told("delivered", tag=delivery.idempotency_key), now=at(60))
    assert ledger.count_forgettable(older_than=RETENTION, now=LATER) == 0
    assert forget() == 0
    assert kept() == ["evt-delivered-1"]


@pytest.mark.parametrize("at_", [at(60), None], ids=["with its time", "without one"])
@pytest.mark.parametrize("word", ["delivered", "bounced"])
def test_a_forgotten_event_that_comes_again_changes_nothing(
    sent: Delivery, word: str, at_: datetime | None
) -> None:
    ledger.report(told(word, at=at_), now=at(60))
    before = ending(sent)
    forget()
    assert ledger.report(told(word, at=at_), now=LATER)
    assert ending(sent) == before
    assert ProviderEvent.objects.get().state == "outranked"


def test_a_forgotten_bounce_does_not_come_back_over_a_later_arrival(sent: Delivery) -> None:
    ledger.report(told("bounced", at=None), now=at(60))
    another(sent)
    ledger.report(told("delivered", seconds=90, provider_message_id="msg-42"), now=at(90))
    forget()
    ledger.report(told("bounced", at=None), now=LATER)
    assert not Mailbox.objects.get().refuses


def test_a_forgotten_quiet_event_does_not_hide_a_louder_one(sent: Delivery) -> None:
    ledger.report(told("delivered", 1), now=at(60))
    ledger.report(told("complained", seconds=90), now=at(90))
    forget()
    ledger.report(told("delivered", 1), now=LATER)
    assert fresh(sent).after_sending == "complained"


def test_the_ids_that_a_provider_still_repeats_are_not_forgotten() -> None:
    with pytest.raises(ValueError, match="repeated for about a day"):
        next(ledger.forget_reports(older_than=timedelta(days=1)))
