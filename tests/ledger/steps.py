"""Short words for what workers and people do to the ledger, always at a literal time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from deliveries import kinds, ledger
from deliveries.ledger import Claim
from deliveries.models import Delivery, DeliveryEvent, Message
from deliveries.outcomes import Cancelled, Dead, Outcome, PutBack, RetryLater, Sent
from invoices.models import Invoice, Organization
from invoices.sending import send
from tests import factories

NOW = factories.NOW
LEASE = timedelta(seconds=60)
KEY_LIFETIME = timedelta(hours=24)
NEEDS = timedelta(seconds=15)

Status = Delivery.Status
Reason = Delivery.DeadReason
Type = DeliveryEvent.Type

SENT = Sent(provider_message_id="msg-41")
RETRY = RetryLater(
    error="The provider answered 503: (nothing)",
    delay=timedelta(seconds=5),
    may_have_accepted=True,
)
REFUSED = Dead(
    reason=Reason.REJECTED,
    error="The provider refused it (422): no such mailbox",
    may_have_accepted=False,
)
UNKNOWN = Dead(
    reason=Reason.OUTCOME_UNKNOWN,
    error="The provider has another message under our key.",
    may_have_accepted=True,
)
VOIDED = Cancelled(why="Not sent: INV-0001 was voided.")
PUT_BACK = PutBack(why="the lane is paused")


def at(seconds: float = 0, **length: float) -> datetime:
    return NOW + timedelta(seconds=seconds, **length)


def claim(
    worker: str = "worker-1",
    *,
    capacity: int = 10,
    now: datetime = NOW,
    lane: str = "email",
    max_claims: int = 3,
) -> list[Claim]:
    return ledger.claim(
        lane, worker=worker, capacity=capacity, lease=LEASE, max_claims=max_claims, now=now
    )


def claim_one(worker: str = "worker-1", *, now: datetime = NOW) -> Claim:
    [claimed] = claim(worker, capacity=1, now=now)
    return claimed


def claimed_ids(claims: Sequence[Claim]) -> list[int]:
    return [claim.delivery_id for claim in claims]


def settle(
    claim: Claim, outcome: Outcome, *, worker: str = "worker-1", now: datetime = NOW
) -> None:
    ledger.settle(claim, outcome, worker=worker, now=now)


def hand_over(
    claim: Claim,
    message: Message | None = None,
    *,
    now: datetime = NOW,
    needs: timedelta = NEEDS,
) -> Message:
    """Begin to hand over as a worker does: the stored message if there is one, else a new one."""
    stored = Message.objects.filter(idempotency_key=claim.idempotency_key).first()
    message = message or stored or factories.make_message()
    ledger.begin_hand_over(claim, message, needs=needs, key_lifetime=KEY_LIFETIME, now=now)
    return message


def replay(delivery: Delivery, actor_id: int, *, confirmed: bool = False, now: datetime) -> None:
    ledger.replay(
        delivery.pk,
        actor_id=actor_id,
        reason="the address was corrected",
        key_lifetime=KEY_LIFETIME,
        confirmed=confirmed,
        now=now,
    )


def bring_to(delivery: Delivery, status: str) -> Claim:
    """Bring a queued delivery into a state, by way of a claim; return that claim."""
    claimed = claim_one()
    match status:
        case Status.QUEUED:
            settle(claimed, PUT_BACK)
        case Status.RETRYING:
            settle(claimed, RETRY)
        case Status.SENT:
            settle(claimed, SENT)
        case Status.DEAD:
            settle(claimed, REFUSED)
        case Status.CANCELLED:
            settle(claimed, VOIDED)
    assert fresh(delivery).status == status
    return claimed


def fresh(delivery: Delivery) -> Delivery:
    return Delivery.objects.get(pk=delivery.pk)


def columns(delivery: Delivery, *names: str) -> dict[str, Any]:
    found: dict[str, Any] = Delivery.objects.values(*names).get(pk=delivery.pk)
    return found


def invoice_of(delivery: Delivery) -> Invoice:
    return Invoice.objects.get(pk=delivery.invoice_id)


def events(delivery: Delivery) -> list[str]:
    return [event.type for event in delivery.events.all()]


def last_event(delivery: Delivery) -> DeliveryEvent:
    event = delivery.events.last()
    assert event is not None
    return event


def everything() -> list[Any]:
    """Return all that the ledger has written, to show that a refused step wrote nothing."""
    return [
        list(Delivery.objects.order_by("pk").values()),
        list(DeliveryEvent.objects.order_by("pk").values()),
        list(Message.objects.order_by("pk").values()),
        list(Invoice.objects.order_by("pk").values("pk", "status", "failure_reason")),
    ]


def request(invoice: Invoice, suffix: str = "") -> tuple[int, bool]:
    """Request the invoice's e-mail; return the delivery's id, and whether it is new."""
    delivery, created = ledger.request(
        invoice,
        kind=kinds.get("invoice"),
        dedupe_key=f"invoice:{invoice.pk}{suffix}",
        reference=invoice.number,
        now=NOW,
    )
    return delivery.pk, created


def click_on_send(invoice: Invoice, person: User) -> int:
    return send(invoice.pk, organization=invoice.organization, user_id=person.pk).pk


def make_deliveries(organization: Organization, count: int) -> list[Delivery]:
    """Request so many deliveries, all of one invoice: to the ledger they are all the same."""
    invoice = factories.make_invoice(organization)
    return [
        factories.make_delivery(invoice, key=f"invoice:{invoice.pk}:again:{number}")
        for number in range(count)
    ]
