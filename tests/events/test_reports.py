"""Each event once, whatever order they come in; a delivery only moves up."""

from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deliveries import correlation, ledger
from deliveries.errors import LeaseLost
from deliveries.ledger.loudness import LOUDNESS
from deliveries.models import Delivery, DeliveryEvent, Mailbox, ProviderEvent
from deliveries.outcomes import Sent
from deliveries.reports import Report
from tests import factories
from tests.ledger.programs import Programs, result
from tests.ledger.steps import (
    REFUSED,
    SENT,
    UNKNOWN,
    at,
    claim_one,
    columns,
    everything,
    fresh,
    hand_over,
    settle,
)

State = Delivery.AfterSending
ADDRESS = "accounts@mamaput.example"


def told(word: str, number: int = 1, *, seconds: float = 60, **values: Any) -> Report:
    defaults: dict[str, Any] = {
        "event_id": f"evt-{word}-{number}",
        "type": f"email.{word}",
        "outcome": State(word),
        "provider_message_id": "msg-41",
        "at": at(seconds),
    }
    return Report(**(defaults | values))


def report(*reports: Report) -> list[bool]:
    return [ledger.report(each, now=at(3600)) for each in reports]


def ending(delivery: Delivery) -> dict[str, Any]:
    """Return all that must not depend on the order in which events came."""
    return {
        **columns(delivery, "after_sending", "after_sending_at", "after_sending_reason"),
        "told": set(delivery.events.values_list("type", "sentence")),
        "mailbox": list(
            Mailbox.objects.values("address", "arrived_at", "came_back_at", "came_back_as")
        ),
    }


def states() -> list[str]:
    return list(ProviderEvent.objects.order_by("pk").values_list("state", flat=True))


def test_a_delivery_follows_what_is_reported(sent: Delivery) -> None:
    assert report(told("bounced", reason="the mailbox does not exist")) == [True]
    assert columns(sent, "after_sending", "after_sending_at", "after_sending_reason") == {
        "after_sending": "bounced",
        "after_sending_at": at(60),
        "after_sending_reason": "the mailbox does not exist",
    }
    event = sent.events.get(type="bounced")
    assert event.sentence == "Bounced: the mailbox does not exist."
    assert event.details["event_id"] == "evt-bounced-1"
    assert ProviderEvent.objects.get().delivery_id == sent.pk


def test_the_same_event_five_times_is_one(sent: Delivery) -> None:
    assert report(*[told("bounced")] * 5) == [True, False, False, False, False]
    assert sent.events.filter(type="bounced").count() == 1
    assert states() == ["applied"]


def test_a_repeat_writes_nothing(sent: Delivery) -> None:
    report(told("delivered"))
    before = everything()
    report(told("delivered", at=at(900), outcome=State.COMPLAINED))
    assert everything() == before


@pytest.mark.parametrize("louder", LOUDNESS)
@pytest.mark.parametrize("quieter", LOUDNESS)
def test_the_state_only_moves_up(sent: Delivery, louder: str, quieter: str) -> None:
    if LOUDNESS[louder] <= LOUDNESS[quieter]:
        return
    report(told(louder, seconds=60), told(quieter, seconds=120))
    assert fresh(sent).after_sending == louder
    assert states() == ["applied", "outranked"]


def test_the_order_of_loudness() -> None:
    assert LOUDNESS["complained"] > max(LOUDNESS[s] for s in ("bounced", "failed", "suppressed"))
    assert min(LOUDNESS[s] for s in ("bounced", "failed", "suppressed")) > LOUDNESS["delivered"]
    assert LOUDNESS["delivered"] > LOUDNESS["delayed"]


@pytest.mark.thorough
def test_every_order_of_a_sequence_ends_the_same(sent: Delivery) -> None:
    sequence = [
        told("delayed", 1, seconds=10),
        told("delayed", 2, seconds=20, reason="the mailbox is full"),
        told("delivered", seconds=30),
        told("complained", seconds=40),
    ]
    endings = []
    for order in permutations(sequence):
        _forget(sent)
        report(*order, order[0])
        endings.append(ending(sent))
    assert endings[0]["after_sending"] == "complained"
    assert all(each == endings[0] for each in endings)


_events = st.lists(
    st.builds(
        told,
        st.sampled_from(list(LOUDNESS)),
        st.integers(1, 3),
        seconds=st.integers(0, 3),
        reason=st.sampled_from(["", "the mailbox is full"]),
    ),
    max_size=6,
    unique_by=lambda each: each.event_id,
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(events=_events, data=st.data())
@pytest.mark.thorough
def test_any_shuffled_and_repeated_sequence_ends_the_same(
    sent: Delivery, events: list[Report], data: st.DataObject
) -> None:
    _forget(sent)
    report(*events)
    expected = ending(sent)
    shuffled = data.draw(st.permutations(events))
    repeats = data.draw(st.lists(st.sampled_from(events), max_size=4)) if events else []
    _forget(sent)
    report(*shuffled, *repeats)
    assert ending(sent) == expected


def _forget(delivery: Delivery) -> None:
    ProviderEvent.objects.all().delete()
    Mailbox.objects.all().delete()
    DeliveryEvent.objects.filter(type__in=list(LOUDNESS)).delete()
    Delivery.objects.update(after_sending="", after_sending_at=None, after_sending_reason="")


def test_an_event_of_an_unknown_message_is_kept(sent: Delivery) -> None:
    report(told("bounced", provider_message_id="msg-of-somebody-else"))
    assert states() == ["waiting"]
    assert fresh(sent).after_sending == ""


def test_an_event_without_a_message_id_belongs_to_nobody(delivery: Delivery) -> None:
    report(told("bounced", provider_message_id=""))
    assert states() == ["waiting"]


def test_what_has_no_effect_is_kept_and_moves_nothing(sent: Delivery) -> None:
    report(
        told("delivered", 1, outcome=None, shelf=ProviderEvent.State.NO_EFFECT),
        told("delivered", 2, outcome=None, shelf=ProviderEvent.State.UNKNOWN_TYPE),
    )
    assert states() == ["no_effect", "unknown_type"]
    assert fresh(sent).after_sending == ""


def test_a_time_ahead_of_ours_is_ours(sent: Delivery) -> None:
    report(told("delivered", at=datetime(2999, 1, 1, tzinfo=UTC)), told("bounced", at=None))
    assert fresh(sent).after_sending_at == at(3600)


# Before our own settling ----------------------------------------------------------------------


def test_an_event_before_the_message_is_settled_is_applied_with_it(delivery: Delivery) -> None:
    claim = claim_one()
    hand_over(claim)
    report(told("delivered"), told("bounced"))
    assert states() == ["waiting", "waiting"]
    settle(claim, SENT, now=at(3700))
    assert fresh(delivery).after_sending == "bounced"
    assert states() == ["applied", "applied"]
    assert [e.type for e in delivery.events.all()] == ["requested", "sent", "delivered", "bounced"]


def test_an_event_while_the_settling_is_not_committed_waits_for_it(
    program: Programs, delivery: Delivery
) -> None:
    claim, worker, provider = claim_one(), program(), program()
    worker.begin()
    worker.do(settle, claim, SENT)
    reported = provider.start(report, told("bounced"))
    provider.wait_until_blocked()
    worker.commit()
    assert result(reported) == [True]
    assert fresh(delivery).after_sending == "bounced"


def test_an_event_not_committed_when_its_message_settles_is_applied_by_the_settling(
    program: Programs, delivery: Delivery
) -> None:
    claim, worker, provider = claim_one(), program(), program()
    provider.begin()
    provider.do(report, told("bounced"))
    settled = worker.start(settle, claim, SENT)
    worker.wait_until_blocked()
    provider.commit()
    result(settled)
    assert fresh(delivery).after_sending == "bounced"


def test_the_same_event_twice_at_once_is_one(program: Programs, sent: Delivery) -> None:
    first, second = program(), program()
    first.begin()
    assert first.do(report, told("bounced")) == [True]
    again = second.start(report, told("bounced"))
    second.wait_until_blocked()
    first.commit()
    assert result(again) == [False]
    assert sent.events.filter(type="bounced").count() == 1


def test_two_events_of_one_message_at_once_end_with_the_louder(
    program: Programs, sent: Delivery
) -> None:
    first, second = program(), program()
    first.begin()
    first.do(report, told("complained"))
    waiting = second.start(report, told("delivered"))
    second.wait_until_blocked()
    first.commit()
    result(waiting)
    assert fresh(sent).after_sending == "complained"


def test_an_event_that_is_rolled_back_leaves_nothing(program: Programs, sent: Delivery) -> None:
    provider = program()
    provider.begin()
    provider.do(report, told("bounced"))
    provider.rollback()
    assert fresh(sent).after_sending == ""
    assert report(told("bounced")) == [True]


def test_its_log_line_is_found_with_the_clicks_own(
    sent: Delivery, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"), correlation.bound(correlation_id="of-the-webhook"):
        report(told("delivered"))
    [line] = [each for each in caplog.records if each.message == "provider event applied"]
    fields = vars(line)
    assert (fields["correlation_id"], fields["told_under"], fields["invoice"]) == (
        sent.correlation_id,
        "of-the-webhook",
        sent.reference,
    )


def test_the_sweep_finds_what_an_older_worker_settled(delivery: Delivery) -> None:
    claim = claim_one()
    report(told("bounced"))
    # As code that knows nothing of events leaves it.
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
    with pytest.raises(LeaseLost):
        settle(claim, SENT)


# By our own tag -------------------------------------------------------------------------------


def test_our_key_in_the_tags_finds_the_delivery(sent: Delivery) -> None:
    report(told("bounced", provider_message_id="other", tag=sent.idempotency_key))
    assert fresh(sent).after_sending == "bounced"


def test_a_report_of_what_we_do_not_know_to_be_sent_is_shown_with_it(delivery: Delivery) -> None:
    claim = claim_one()
    hand_over(claim)
    settle(claim, UNKNOWN)
    report(told("delivered", tag=delivery.idempotency_key))
    assert fresh(delivery).status == "dead"
    assert delivery.provider_events.get().state == "waiting"


def test_a_refused_delivery_follows_nothing(delivery: Delivery) -> None:
    settle(claim_one(), REFUSED)
    report(told("delivered"))
    assert fresh(delivery).after_sending == ""


# Mailboxes ------------------------------------------------------------------------------------


def mailbox() -> Mailbox:
    return Mailbox.objects.get()


def test_an_address_that_bounced_refuses_until_an_email_gets_there(sent: Delivery) -> None:
    report(told("bounced", seconds=60, reason="the mailbox does not exist"))
    assert (mailbox().address, mailbox().refuses) == (ADDRESS, True)
    assert mailbox().came_back_reason == "the mailbox does not exist"
    factories.make_delivery(sent.invoice, key="again")
    claim = claim_one()
    hand_over(claim)
    settle(claim, Sent(provider_message_id="msg-42"))
    report(told("delivered", seconds=90, provider_message_id="msg-42"))
    assert not mailbox().refuses


def test_an_older_arrival_does_not_clear_a_bounce(sent: Delivery) -> None:
    report(told("complained", seconds=60), told("delivered", seconds=30))
    assert mailbox().refuses


@pytest.mark.parametrize("outcome", ["bounced_for_now", "failed", "delayed"])
def test_what_may_pass_says_nothing_of_the_address(sent: Delivery, outcome: str) -> None:
    report(told(outcome))
    assert not Mailbox.objects.exists()


def test_of_several_recipients_a_bounce_blames_nobody(delivery: Delivery) -> None:
    claim = claim_one()
    hand_over(claim, factories.make_message(to=["a@x.example", "b@x.example"]))
    settle(claim, SENT)
    report(told("bounced", 1))
    assert not Mailbox.objects.exists()
    report(told("bounced", 2, address="B@x.example"), told("bounced", 3, address="c@x.example"))
    assert mailbox().address == "b@x.example"


def test_each_organization_knows_its_own_mailboxes(sent: Delivery) -> None:
    elsewhere = factories.make_delivery(
        factories.make_invoice(factories.make_organization("nordlicht"))
    )
    claim = claim_one()
    hand_over(claim)
    settle(claim, Sent(provider_message_id="msg-42"))
    report(told("bounced", provider_message_id="msg-42"))
    assert mailbox().organization_id == elsewhere.organization_id


def test_one_that_a_person_found_in_the_log_follows_what_was_reported_before(
    delivery: Delivery,
) -> None:
    support = User.objects.create_user("support")
    claim = claim_one()
    hand_over(claim)
    settle(claim, UNKNOWN)
    report(told("bounced"))
    ledger.vouch(
        delivery.pk, provider_message_id="msg-41", actor_id=support.pk, reason="Seen.", now=at(90)
    )
    assert columns(delivery, "status", "after_sending") == {
        "status": "sent",
        "after_sending": "bounced",
    }
