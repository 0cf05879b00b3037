"""Replay and cancel in the admin: asked why, on exactly the rows of the page, once."""

import re
import time
from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from deliveries import kinds, ledger
from deliveries.models import Delivery, DeliveryEvent
from deliveries.outcomes import Dead
from invoices import tokens
from invoices.models import Invoice, Member, Organization
from invoices.sending import send
from tests import factories
from tests.support.conftest import LogIn, another, kill

ALL = "/admin/deliveries/delivery/"
DEAD = "/admin/deliveries/deadletter/"

UNKNOWN = Dead(
    reason=Delivery.DeadReason.OUTCOME_UNKNOWN, error="It may be there.", may_have_accepted=True
)


@pytest.fixture
def client(support: User, log_in: LogIn) -> Client:
    return log_in(support)


def asked(client: Client, act: str, deliveries: Sequence[Delivery], list_: str = DEAD) -> str:
    """Choose the rows in the list and the action; return the page that asks why."""
    chosen = [delivery.pk for delivery in deliveries]
    answer = client.post(list_, {"action": act, "_selected_action": chosen})
    assert answer.status_code == 200
    return answer.content.decode()


def act(client: Client, page: str, **answers: str) -> str:
    """Send that page's form, and return the page it leads to."""
    hidden = dict(
        re.findall(r'<input type="hidden" name="(ids|seen_at|back)" value="([^"]*)"', page)
    )
    found = re.search(r'class="card act" method="post" action="([^"]+)"', page)
    assert found
    return client.post(found[1], hidden | answers, follow=True).content.decode()


def replay(client: Client, *deliveries: Delivery, **answers: str) -> str:
    page = asked(client, "replay", deliveries)
    return act(client, page, **({"reason": "The address is right now."} | answers))


def status(delivery: Delivery) -> str:
    delivery.refresh_from_db()
    return str(delivery.status)


def forgotten(delivery: Delivery) -> None:
    """Let the provider have forgotten the key."""
    then = timezone.now() - timedelta(days=3)
    Delivery.objects.filter(pk=delivery.pk).update(handed_over_at=then)


def test_a_replay_records_who_when_and_why(client: Client, dead: Delivery) -> None:
    assert "1 replayed." in replay(client, dead)
    assert status(dead) == "queued"
    event = dead.events.get(type=DeliveryEvent.Type.REPLAYED)
    assert event.actor is not None
    assert event.actor.username == "support"
    assert event.sentence == "Put back to be sent again: The address is right now."
    assert Invoice.objects.get(pk=dead.invoice_id).status == Invoice.Status.SENDING


def test_nothing_happens_before_the_page_is_answered(client: Client, dead: Delivery) -> None:
    assert "composed anew" in asked(client, "replay", [dead])
    assert status(dead) == "dead"


@pytest.mark.parametrize("reason", ["", "   ", "x" * 501])
def test_without_a_proper_reason_nothing_is_replayed(
    client: Client, dead: Delivery, reason: str
) -> None:
    page = replay(client, dead, reason=reason)
    assert "errornote" in page
    assert 'name="ids" value="' in page
    assert status(dead) == "dead"


def test_a_reason_stays_on_one_line(client: Client, dead: Delivery) -> None:
    replay(client, dead, reason="Corrected.\nSent by: somebody else")
    event = dead.events.get(type=DeliveryEvent.Type.REPLAYED)
    assert event.sentence == "Put back to be sent again: Corrected. Sent by: somebody else"


def test_a_second_click_is_harmless(client: Client, dead: Delivery) -> None:
    page = asked(client, "replay", [dead])
    assert "1 replayed." in act(client, page, reason="Corrected.")
    assert "0 replayed, 1 skipped: already waiting to be sent." in act(
        client, page, reason="Corrected."
    )
    assert dead.events.filter(type=DeliveryEvent.Type.REPLAYED).count() == 1


def test_a_second_click_does_not_replay_what_died_again_meanwhile(
    client: Client, dead: Delivery
) -> None:
    page = asked(client, "replay", [dead])
    act(client, page, reason="Corrected.")
    kill(dead)
    assert "look at it anew" in act(client, page, reason="Corrected.")
    assert status(dead) == "dead"


def test_the_batch_tells_what_was_skipped_and_why(client: Client, dead: Delivery) -> None:
    running = another(dead)
    page = asked(client, "replay", [dead, running], ALL)
    ledger.claim("email", worker="w", capacity=1, lease=timedelta(minutes=1), max_claims=3)
    assert "1 replayed, 1 skipped: already running." in act(client, page, reason="Corrected.")


def test_an_unknown_outcome_wants_a_confirmation(client: Client, delivery: Delivery) -> None:
    kill(delivery, UNKNOWN)
    forgotten(delivery)
    assert "the customer may already have it" in asked(client, "replay", [delivery])
    assert "must be confirmed" in replay(client, delivery)
    assert status(delivery) == "dead"
    assert "1 replayed." in replay(client, delivery, confirmed="on")
    event = delivery.events.get(type=DeliveryEvent.Type.REPLAYED)
    assert event.details["confirmed"]


def test_a_key_that_lives_says_that_the_stored_message_goes_again(
    client: Client, delivery: Delivery
) -> None:
    kill(delivery, UNKNOWN)
    Delivery.objects.filter(pk=delivery.pk).update(handed_over_at=timezone.now())
    page = asked(client, "replay", [delivery])
    assert "the stored message goes again as it is" in page
    assert 'name="confirmed"' not in page


def test_cancelling_takes_dead_and_waiting_ones_out(client: Client, dead: Delivery) -> None:
    waiting = another(dead)
    page = asked(client, "cancel", [dead, waiting], ALL)
    assert "2 cancelled." in act(client, page, reason="The contract was ended.")
    assert (status(dead), status(waiting)) == ("cancelled", "cancelled")
    event = waiting.events.get(type=DeliveryEvent.Type.CANCELLED)
    assert (event.sentence, event.actor_id is not None) == ("The contract was ended.", True)


def test_the_buttons_of_one_delivery_ask_the_same(client: Client, dead: Delivery) -> None:
    page = client.get(f"{ALL}{dead.pk}/replay/").content.decode()
    assert "1 replayed." in act(client, page, reason="Corrected.")
    page = client.get(f"{ALL}{dead.pk}/cancel/").content.decode()
    assert "1 cancelled." in act(client, page, reason="Not wanted any more.")


def test_the_list_comes_back_with_its_filters(client: Client, dead: Delivery) -> None:
    address = f"{DEAD}?dead_reason=rejected"
    page = asked(client, "replay", [dead], address)
    hidden = dict(re.findall(r'name="(ids|seen_at|back)" value="([^"]*)"', page))
    answer = client.post(f"{ALL}replay/", hidden | {"reason": "Corrected."})
    assert answer.headers["Location"] == address


@pytest.mark.parametrize("back", ["https://evil.example/?x", "//evil.example", "../../x", "user?"])
def test_no_page_leads_elsewhere(client: Client, dead: Delivery, back: str) -> None:
    hidden = {"ids": str(dead.pk), "seen_at": timezone.now().isoformat(), "back": back}
    answer = client.post(f"{ALL}replay/", hidden | {"reason": "Corrected."})
    assert answer.headers["Location"].startswith(DEAD)


@pytest.mark.parametrize("ids", ["", "x", "1,", "-1", "9" * 30, "1;2", "\u0661"])
def test_nonsense_for_ids_is_answered_with_what_to_do(client: Client, ids: str) -> None:
    now = timezone.now().isoformat()
    answer = client.post(f"{ALL}replay/", {"ids": ids, "seen_at": now, "reason": "x"})
    assert answer.status_code == 400


def test_ids_that_do_not_exist_are_skipped(client: Client, dead: Delivery) -> None:
    form = {"ids": f"{dead.pk},{dead.pk + 10**9}", "seen_at": timezone.now().isoformat()}
    page = client.post(f"{ALL}replay/", form | {"reason": "Corrected."}, follow=True)
    assert "1 replayed, 1 skipped: it does not exist." in page.content.decode()


@pytest.mark.parametrize("act_", ["replay", "cancel"])
def test_acts_are_posted(client: Client, dead: Delivery, act_: str) -> None:
    assert client.get(f"{ALL}{act_}/").status_code == 405
    assert client.post(f"{ALL}{dead.pk}/{act_}/").status_code == 405
    assert client.get(f"{ALL}999999999/{act_}/").status_code == 404


@pytest.mark.parametrize("role", ["operations", "auditor"])
@pytest.mark.parametrize("act_", ["replay", "cancel"])
def test_other_roles_do_neither(
    dead: Delivery, request: pytest.FixtureRequest, log_in: LogIn, role: str, act_: str
) -> None:
    client = log_in(request.getfixturevalue(role))
    form = {"ids": str(dead.pk), "seen_at": timezone.now().isoformat(), "reason": "x"}
    assert client.post(f"{ALL}{act_}/", form).status_code == 403
    assert client.get(f"{ALL}{dead.pk}/{act_}/").status_code == 403
    client.post(DEAD, {"action": act_, "_selected_action": [dead.pk]})
    assert f'href="../{act_}/"' not in client.get(f"{ALL}{dead.pk}/change/").content.decode()
    assert status(dead) == "dead"


def test_a_batch_is_found_whole_under_its_one_id(client: Client, dead: Delivery) -> None:
    others = [kill(another(dead)) for _ in range(2)]
    page = replay(client, dead, *others)
    assert "3 replayed. " in page
    events = DeliveryEvent.objects.filter(type=DeliveryEvent.Type.REPLAYED)
    [(batch, actor, of)] = set(events.values_list("correlation_id", "actor", "details__batch_of"))
    assert (actor, of) == (User.objects.get(username="support").pk, 3)
    assert f"?q={batch}" in page
    listed = client.get(ALL, {"q": batch}).content.decode()
    assert all(f"/{delivery.pk}/change/" in listed for delivery in (dead, *others))


@pytest.mark.slow
def test_five_thousand_are_replayed_in_one_action(client: Client, dead: Delivery) -> None:
    make_dead(dead.organization, 4_999)
    chosen = {"action": "replay", "select_across": "1", "_selected_action": [dead.pk]}
    page = client.post(DEAD, chosen).content.decode()
    assert "<strong>5000</strong>" in page or "<strong>5,000</strong>" in page
    began = time.monotonic()
    assert "5,000 replayed. " in act(client, page, reason="The provider works again.")
    print(f"5,000 replayed in {time.monotonic() - began:.1f} s")  # noqa: T201
    assert Delivery.objects.filter(status="queued").count() == 5_000
    events = DeliveryEvent.objects.filter(type=DeliveryEvent.Type.REPLAYED)
    assert set(events.values_list("details__batch_of", flat=True)) == {5_000}
    assert len(set(events.values_list("correlation_id", "actor"))) == 1


def make_dead(organization: Organization, count: int) -> None:
    """Make invoices whose e-mails the provider refused."""
    invoices = [
        factories.make_invoice(organization, number=f"D-{number}", status="sending")
        for number in range(count)
    ]
    with transaction.atomic():
        ledger.request_many(
            [
                ledger.Wanted(
                    organization_id=organization.pk,
                    invoice_id=invoice.pk,
                    dedupe_key=f"invoice:{invoice.pk}",
                    reference=invoice.number,
                )
                for invoice in invoices
            ],
            kind=kinds.get("invoice"),
        )
    Delivery.objects.filter(status="queued").update(
        status="dead", dead_reason="rejected", last_error="no such address", finished_at=Now()
    )
    Invoice.objects.filter(status="sending").update(status="failed", failure_reason="refused")


# What the customer may have ---------------------------------------------------------------------


def dropped(delivery: Delivery) -> None:
    """Let it be given up after the provider may have accepted it."""
    gave_up = Dead(
        reason=Delivery.DeadReason.GAVE_UP, error="It broke off.", may_have_accepted=True
    )
    kill(delivery, gave_up)
    Delivery.objects.filter(pk=delivery.pk).update(handed_over_at=timezone.now())


def test_what_may_have_arrived_is_told_as_such_everywhere(
    client: Client, delivery: Delivery
) -> None:
    dropped(delivery)
    for address in (DEAD, f"{ALL}{delivery.pk}/change/"):
        page = client.get(address).content.decode()
        assert "We do not know" in page
        assert "say “It was sent”" in page
    assert f"/{delivery.pk}/change/" in client.get(DEAD, {"arrival": "maybe"}).content.decode()
    assert f"/{delivery.pk}/change/" not in client.get(DEAD, {"arrival": "never"}).content.decode()


def test_what_the_providers_log_shows_is_recorded_as_sent(
    client: Client, delivery: Delivery
) -> None:
    dropped(delivery)
    page = client.get(f"{ALL}{delivery.pk}/vouch/").content.decode()
    told = act(client, page, reason="Seen in its log.", provider_message_id="msg-5")
    assert "1 recorded as sent." in told
    delivery.refresh_from_db()
    assert (delivery.status, delivery.provider_message_id) == ("sent", "msg-5")
    assert delivery.sent_at == delivery.handed_over_at
    event = delivery.events.get(type=DeliveryEvent.Type.SENT)
    assert event.actor is not None
    assert Invoice.objects.get(pk=delivery.invoice_id).status == Invoice.Status.SENT


@pytest.mark.parametrize("id_", ["", "two words", "x" * 256])
def test_sent_needs_the_providers_id(client: Client, delivery: Delivery, id_: str) -> None:
    dropped(delivery)
    page = client.get(f"{ALL}{delivery.pk}/vouch/").content.decode()
    assert "errornote" in act(client, page, reason="Seen.", provider_message_id=id_)
    assert status(delivery) == "dead"


def test_what_the_provider_never_had_cannot_be_vouched_for(client: Client, dead: Delivery) -> None:
    page = client.get(f"{ALL}{dead.pk}/vouch/").content.decode()
    assert "There is nothing to do." in page
    form = {"ids": str(dead.pk), "seen_at": timezone.now().isoformat(), "reason": "x"}
    client.post(f"{ALL}vouch/", form | {"provider_message_id": "msg-5"})
    assert status(dead) == "dead"


def test_cancelling_what_may_have_arrived_warns_and_keeps_finance_from_a_mere_click(
    client: Client, delivery: Delivery, owner: User
) -> None:
    dropped(delivery)
    page = client.get(f"{ALL}{delivery.pk}/cancel/").content.decode()
    assert "may have been accepted" in page
    act(client, page, reason="It was sent.")
    assert "may have reached the customer" in delivery.events.latest("id").sentence
    again = send(delivery.invoice_id, organization=delivery.organization, user_id=owner.pk)
    assert (again.pk, Delivery.objects.count()) == (delivery.pk, 1)


def test_a_confirmation_covers_only_what_was_shown_as_unknown(
    client: Client, delivery: Delivery, settings: Settings
) -> None:
    """The key that lived when the page was made is forgotten by the time of the click."""
    dropped(delivery)
    page = asked(client, "replay", [delivery])
    settings.DELIVERY_KEY_LIFETIME_SECONDS = 0.001
    seen = re.sub(r'(name="seen_at" value=")[^"]*', rf"\g<1>{_before(delivery)}", page)
    told = act(client, seen, reason="x", confirmed="on")
    assert "forgotten its key since you looked" in told
    assert status(delivery) == "dead"


def _before(delivery: Delivery) -> str:
    """Return a moment after it died and before its key was forgotten."""
    delivery.refresh_from_db()
    Delivery.objects.filter(pk=delivery.pk).update(
        finished_at=timezone.now() - timedelta(minutes=2)
    )
    return (timezone.now() - timedelta(minutes=1)).isoformat()


def test_a_cancel_leaves_what_was_replayed_meanwhile(client: Client, dead: Delivery) -> None:
    page = asked(client, "cancel", [dead])
    replay(client, dead)
    assert "replayed since you looked" in act(client, page, reason="Not wanted.")
    assert status(dead) == "queued"


def test_a_tokens_program_does_not_reach_the_admin(dead: Delivery, support: User) -> None:
    member = Member.objects.create(organization=dead.organization, user=support, role="viewer")
    token = tokens.issue(member, name="ERP")
    program = Client(headers={"Authorization": f"Bearer {token}"})
    assert program.get(DEAD).status_code == 302
    form = {"ids": str(dead.pk), "seen_at": timezone.now().isoformat(), "reason": "x"}
    assert program.post(f"{ALL}replay/", form).status_code == 302
    assert status(dead) == "dead"
