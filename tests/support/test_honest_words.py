"""Nothing that support reads says "Not sent" of what nobody knows, nor hides a second e-mail."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from deliveries import ledger, searching, tracing
from deliveries.models import Delivery
from deliveries.outcomes import Dead
from deliveries.reports import Report
from tests.ledger.steps import KEY_LIFETIME, SENT, at, claim_one, hand_over, settle
from tests.support.conftest import LogIn, kill

GAVE_UP = Dead(
    reason=Delivery.DeadReason.GAVE_UP, error="The provider is silent.", may_have_accepted=True
)


@pytest.fixture
def set_aside(delivery: Delivery) -> Delivery:
    """After a restore, nobody knows whether it was sent."""
    *_, _counts = ledger.reconcile(backup_taken_at=at(5), key_lifetime=KEY_LIFETIME)
    return Delivery.objects.get(pk=delivery.pk)


def printed(term: str = "INV-0001") -> str:
    out = StringIO()
    call_command("trace", term, stdout=out)
    return out.getvalue()


def test_the_command_says_of_a_set_aside_one_that_nobody_knows(set_aside: Delivery) -> None:
    said = printed()
    assert f"invoice {set_aside.pk}: We do not know" in said
    assert "Not sent" not in said


@pytest.mark.parametrize("address", ["/admin/trace/?q=INV-0001", "/admin/deliveries/delivery/{}/"])
def test_so_does_each_page_of_support(
    set_aside: Delivery, support: User, log_in: LogIn, address: str
) -> None:
    page = log_in(support).get(address.format(set_aside.pk), follow=True).content.decode()
    assert "We do not know" in page
    assert "Not sent" not in page


def test_so_does_finances_page(set_aside: Delivery, client: Client, owner: User) -> None:
    client.force_login(owner)
    page = client.get(f"/invoices/{set_aside.invoice_id}").content.decode()
    assert "We do not know" in page
    assert "Not sent" not in page


def test_given_up_though_it_may_have_arrived_is_not_called_not_sent(delivery: Delivery) -> None:
    hand_over(claim_one())
    Delivery.objects.update(status="queued", locked_by=None, locked_until=None)
    kill(delivery, GAVE_UP)
    assert "Not sent" not in printed()


def test_what_was_surely_not_sent_is_still_called_so(dead: Delivery) -> None:
    assert printed().count("Not sent") == 3


def test_a_restore_is_nobodys_schedule(set_aside: Delivery) -> None:
    [trace] = tracing.search("INV-0001").traces
    assert [step.who for step in trace.steps] == ["the schedule", "the restore"]


# A second e-mail ---------------------------------------------------------------------------------


def tell(delivery: Delivery, message_id: str, event_id: str = "evt-1") -> None:
    ledger.report(
        Report(
            event_id=event_id,
            type="email.delivered",
            provider_message_id=message_id,
            outcome=Delivery.AfterSending.DELIVERED,
            at=at(60),
            tag=delivery.idempotency_key,
        ),
        now=at(61),
    )


@pytest.fixture
def doubled(delivery: Delivery) -> Delivery:
    """The provider tells of its own id, and of another under the same key."""
    settle(claim_one(), SENT)
    tell(delivery, "msg-41")
    tell(delivery, "msg-foreign", "evt-2")
    return Delivery.objects.get(pk=delivery.pk)


def test_the_id_of_a_second_e_mail_finds_whose_it_is(doubled: Delivery) -> None:
    assert [each.pk for each in searching.deliveries_meant("msg-foreign")] == [doubled.pk]
    assert "INV-0001" in printed("msg-foreign")


def test_the_timeline_tells_of_the_second_e_mail(doubled: Delivery) -> None:
    delivered = tracing.search("INV-0001").traces[0].steps[2:]
    assert [step.label for step in delivered] == ["Delivered", "Delivered"]
    assert "msg-foreign" not in delivered[0].sentence
    assert "of msg-foreign, another e-mail than msg-41" in delivered[1].sentence


def test_one_that_was_told_of_before_it_was_sent_is_found_too(delivery: Delivery) -> None:
    tell(delivery, "msg-foreign")
    assert "INV-0001" in printed("msg-foreign")


def test_an_event_of_no_delivery_here_is_told_of(db: None) -> None:
    ledger.report(
        Report(
            event_id="evt-1",
            type="email.delivered",
            provider_message_id="msg-lost",
            outcome=Delivery.AfterSending.DELIVERED,
            at=at(60),
        ),
        now=at(61),
    )
    with pytest.raises(CommandError, match=r"email\.delivered at 2026-03-02 09:01:00 UTC"):
        printed("msg-lost")
