"""What must never be is refused by the database itself, whoever writes."""

from typing import Any

import pytest
from django.db import IntegrityError, models

from deliveries.models import Delivery, Flow, Lane, Message
from tests import factories
from tests.ledger.steps import NOW, bring_to, claim_one, hand_over

DELIVERY: list[tuple[str, str, dict[str, Any]]] = [
    ("delivery_status", "queued", {"status": "mislaid"}),
    ("delivery_leased_exactly_when_running", "queued", {"status": "running"}),
    ("delivery_leased_exactly_when_running", "queued", {"locked_by": "worker-1"}),
    ("delivery_leased_exactly_when_running", "queued", {"locked_until": NOW}),
    ("delivery_leased_exactly_when_running", "running", {"locked_by": None}),
    ("delivery_leased_exactly_when_running", "running", {"locked_until": None}),
    ("delivery_leased_exactly_when_running", "running", {"status": "queued"}),
    ("delivery_due_exactly_when_retrying", "queued", {"status": "retrying"}),
    ("delivery_due_exactly_when_retrying", "queued", {"next_attempt_at": NOW}),
    ("delivery_due_exactly_when_retrying", "retrying", {"next_attempt_at": None}),
    ("delivery_due_exactly_when_retrying", "retrying", {"status": "queued"}),
    ("delivery_finished_exactly_when_final", "queued", {"finished_at": NOW}),
    ("delivery_finished_exactly_when_final", "queued", {"status": "cancelled"}),
    ("delivery_finished_exactly_when_final", "dead", {"finished_at": None}),
    ("delivery_finished_exactly_when_final", "sent", {"finished_at": None}),
    ("delivery_sent_has_provider_id", "sent", {"provider_message_id": ""}),
    ("delivery_sent_has_provider_id", "sent", {"sent_at": None}),
    ("delivery_sent_has_provider_id", "cancelled", {"sent_at": NOW}),
    ("delivery_sent_has_provider_id", "cancelled", {"status": "sent"}),
    ("delivery_dead_has_reason", "dead", {"dead_reason": ""}),
    ("delivery_dead_has_reason", "dead", {"dead_reason": "bad luck"}),
    ("delivery_dead_has_reason", "dead", {"last_error": ""}),
    ("delivery_dead_has_reason", "queued", {"dead_reason": "rejected"}),
    ("delivery_after_sending", "sent", {"after_sending": "mislaid", "after_sending_at": NOW}),
    ("delivery_after_sending_only_when_sent", "sent", {"after_sending": "bounced"}),
    ("delivery_after_sending_only_when_sent", "sent", {"after_sending_at": NOW}),
    (
        "delivery_after_sending_only_when_sent",
        "dead",
        {"after_sending": "bounced", "after_sending_at": NOW},
    ),
    ("deliveries_delivery_claims_check", "queued", {"claims": -1}),
    ("deliveries_delivery_attempts_check", "queued", {"attempts": -1}),
]

LANE: list[tuple[str, dict[str, Any]]] = [
    ("lane_limit_positive", {"limit": 0}),
    ("lane_rate_positive", {"rate_per_second": 0.0}),
    ("lane_rate_positive", {"rate_per_second": -0.5}),
    ("lane_reported_rate_positive", {"reported_rate": 0.0}),
    ("lane_pause_has_reason", {"paused_until": NOW}),
    ("lane_pause_has_reason", {"paused_reason": "The key was refused."}),
]

UNIQUE = {
    "delivery_dedupe_key",
    "delivery_idempotency_key",
    "message_idempotency_key",
    "flow_key",
}


@pytest.mark.parametrize(("name", "status", "change"), DELIVERY)
def test_a_delivery_cannot_be(
    delivery: Delivery, name: str, status: str, change: dict[str, Any]
) -> None:
    bring_to(delivery, status)
    with pytest.raises(IntegrityError, match=f'"{name}"'):
        Delivery.objects.update(**change)


@pytest.mark.parametrize(("name", "change"), LANE)
def test_a_lane_cannot_be(delivery: Delivery, name: str, change: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match=f'"{name}"'):
        Lane.objects.update(**change)


def copied(row: models.Model, **changes: object) -> None:
    """Insert the same row a second time, but for the changes."""
    for name, value in changes.items():
        setattr(row, name, value)
    row.pk = None
    row._state.adding = True
    row.save(force_insert=True)


def test_one_intent_has_one_row(delivery: Delivery) -> None:
    with pytest.raises(IntegrityError, match='"delivery_dedupe_key"'):
        copied(delivery, idempotency_key="delivery-42")


def test_the_provider_never_sees_one_key_for_two_deliveries(delivery: Delivery) -> None:
    with pytest.raises(IntegrityError, match='"delivery_idempotency_key"'):
        copied(delivery, dedupe_key="invoice:42")


def test_one_key_has_one_content(delivery: Delivery) -> None:
    message = hand_over(claim_one())
    with pytest.raises(IntegrityError, match='"message_idempotency_key"'):
        copied(message, subject="Another subject")


def test_a_message_has_a_recipient(delivery: Delivery) -> None:
    with pytest.raises(IntegrityError, match='"message_has_recipient"'):
        hand_over(claim_one(), factories.make_message(to=[]))


def test_a_flow_is_counted_once(delivery: Delivery) -> None:
    with pytest.raises(IntegrityError, match='"flow_key"'):
        copied(Flow.objects.get())


def test_every_constraint_of_the_ledger_is_tested_here() -> None:
    tested = {name for name, *_ in (*DELIVERY, *LANE)} | UNIQUE | {"message_has_recipient"}
    named = {
        constraint.name
        for model in (Delivery, Message, Lane, Flow)
        for constraint in model._meta.constraints
    }
    assert named <= tested
