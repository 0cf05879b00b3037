"""A report that this version cannot follow undoes nothing and holds up nobody."""

import pytest

from deliveries import ledger
from deliveries.models import Delivery, Mailbox, ProviderEvent
from deliveries.outcomes import Sent
from invoices.models import Organization
from tests.events.test_reports import told
from tests.ledger.steps import at, claim_one, fresh, hand_over, make_deliveries, settle

SENT = Sent(provider_message_id="msg-1", took_recipients=True)


def keep_unknown(message_id: str = "msg-1") -> ProviderEvent:
    """Keep an event as a newer version would, which knows outcomes that this one does not."""
    return ProviderEvent.objects.create(
        event_id=f"odd-{message_id}",
        type="email.quarantined",
        outcome="quarantined",
        provider_message_id=message_id,
        happened_at=at(),
        received_at=at(),
    )


def test_what_was_accepted_is_recorded_as_sent(
    delivery: Delivery, caplog: pytest.LogCaptureFixture
) -> None:
    odd = keep_unknown()
    settle(claim_one(), SENT)
    assert (fresh(delivery).status, fresh(delivery).provider_message_id) == ("sent", "msg-1")
    odd.refresh_from_db()
    assert odd.state == ProviderEvent.State.WAITING
    assert "reports could not be followed; they are tried again" in caplog.messages


def test_what_the_hand_over_said_of_the_addresses_is_noted_all_the_same(delivery: Delivery) -> None:
    mailbox = Mailbox.objects.create(
        organization_id=delivery.organization_id,
        address="accounts@mamaput.example",
        came_back_at=at(-60),
        came_back_as="bounced",
    )
    keep_unknown()
    held = claim_one()
    hand_over(held)
    settle(held, SENT)
    mailbox.refresh_from_db()
    assert mailbox.arrived_at is not None


def test_the_other_reports_are_followed(organization: Organization) -> None:
    odd, good = make_deliveries(organization, 2)
    keep_unknown("msg-1")
    ledger.report(told("bounced", provider_message_id="msg-2"), now=at(2))
    for delivery, message_id in ((odd, "msg-1"), (good, "msg-2")):
        # As a worker leaves it that knows nothing of events.
        Delivery.objects.filter(pk=delivery.pk).update(
            status="sent", sent_at=at(), finished_at=at(), provider_message_id=message_id
        )
    assert ledger.follow_up_reports(now=at(3)) == 1
    assert fresh(good).after_sending == "bounced"
