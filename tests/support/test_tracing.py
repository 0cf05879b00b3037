"""One search answers "I never got it", on a page and on a terminal."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from deliveries import correlation, ledger, searching, tracing
from deliveries.models import Delivery
from deliveries.outcomes import Sent
from invoices.models import Invoice, Organization
from invoices.voiding import void
from tests import factories
from tests.ledger.steps import make_deliveries
from tests.support.conftest import LogIn, kill

pytestmark = pytest.mark.thorough

DAY = timedelta(days=1)


@pytest.fixture
def story(delivery: Delivery, support: User) -> Delivery:
    """Refused, corrected, replayed, sent."""
    kill(delivery)
    with correlation.bound(correlation_id="req-of-replay"):
        ledger.note_correction(
            [delivery.invoice_id], sentence="The address was corrected.", actor_id=support.pk
        )
        ledger.replay(delivery.pk, actor_id=support.pk, reason="Put right.", key_lifetime=DAY)
    [claim] = ledger.claim("email", worker="worker-2", capacity=1, lease=DAY, max_claims=3)
    ledger.settle(claim, Sent(provider_message_id="msg-77"), worker="worker-2")
    delivery.refresh_from_db()
    return delivery


def numbers(term: str) -> list[str]:
    return [trace.entry.number for trace in tracing.search(term).traces]


def test_the_whole_story_stands_in_order_with_its_people(story: Delivery) -> None:
    [trace] = tracing.search("INV-0001").traces
    told = [(step.label, step.who) for step in trace.steps]
    assert told == [
        ("Requested", "the schedule"),
        ("Not sent", "worker-1"),
        ("Corrected", "support"),
        ("Replayed", "support"),
        ("Sent", "worker-2"),
    ]


@pytest.mark.parametrize(
    "term",
    [
        "INV-0001",
        "inv-0001",
        " INV-00 ",
        "0001",
        "1",
        "<accounts@mamaput.example>",
        "Mama",
        "put kitchen",
        "kitch mama",
        "accounts@mamaput.example",
        "ACCOUNTS@mama",
        "msg-77",
        "req-of-replay",
    ],
)
def test_whatever_support_was_told_finds_it(story: Delivery, term: str) -> None:
    assert numbers(term) == ["INV-0001"]


@pytest.mark.parametrize("name", ["dedupe_key", "idempotency_key", "correlation_id"])
def test_every_id_of_ours_finds_it(story: Delivery, name: str) -> None:
    assert numbers(getattr(story, name)) == ["INV-0001"]


def test_the_key_of_a_replaced_message_finds_it(delivery: Delivery) -> None:
    message = factories.make_message(delivery=delivery, idempotency_key="delivery-old")
    message.save()
    assert numbers("delivery-old") == ["INV-0001"]


@pytest.mark.parametrize(
    "term",
    ["", "  ", "nobody", "000", "'", "'; drop table", "a & | ! b:*", "%", "_", "\x00", "x" * 400],
)
def test_what_means_nothing_finds_nothing(story: Delivery, term: str) -> None:
    assert numbers(term) == []
    assert not searching.deliveries_meant(term).exists()


def test_an_invoice_that_was_never_sent_is_found_and_says_so(
    invoice: Invoice, support: User, log_in: LogIn
) -> None:
    page = log_in(support).get("/admin/trace/", {"q": "INV-0001"}).content.decode()
    assert "The ledger holds no e-mail of it: nobody has clicked Send here." in page


def test_of_several_invoices_each_has_its_own_steps(organization: Organization) -> None:
    first, second = (factories.make_delivery(factories.make_invoice(organization)) for _ in "12")
    found = tracing.search("Mama Put")
    assert [trace.deliveries for trace in found.traces] == [(second,), (first,)]
    assert [len(trace.steps) for trace in found.traces] == [1, 1]
    assert not found.more


def test_more_than_are_shown_is_said(organization: Organization) -> None:
    for _ in range(tracing.MOST_INVOICES + 1):
        factories.make_invoice(organization)
    found = tracing.search("Mama Put")
    assert (len(found.traces), found.more) == (tracing.MOST_INVOICES, True)


def test_times_are_told_in_utc_and_on_the_organizations_clock(organization: Organization) -> None:
    Organization.objects.update(time_zone="Pacific/Auckland")
    make_deliveries(organization, 1)
    [step] = tracing.search("Mama Put").traces[0].steps
    assert (step.utc, step.local) == ("2026-03-02 09:00:00", "22:00:00")
    Organization.objects.update(time_zone="No/Such")
    [step] = tracing.search("Mama Put").traces[0].steps
    assert step.local == "09:00:00"


def test_a_search_asks_a_fixed_number_of_queries(
    organization: Organization, django_assert_max_num_queries: Callable[..., object]
) -> None:
    make_deliveries(organization, 15)
    with django_assert_max_num_queries(18):  # type: ignore[attr-defined]
        tracing.search("Mama Put")


@pytest.mark.parametrize("role", ["support", "operations", "auditor"])
def test_every_role_may_search(
    story: Delivery, request: pytest.FixtureRequest, log_in: LogIn, role: str
) -> None:
    client = log_in(request.getfixturevalue(role))
    page = client.get("/admin/trace/", {"q": "msg-77"}).content.decode()
    assert "Put back to be sent again: Put right." in page
    assert ("accounts@mamaput.example" in page) == (role != "operations")


def test_a_customers_address_is_not_confirmed_to_whom_it_is_not_shown(
    story: Delivery, owner: User, log_in: LogIn
) -> None:
    assert log_in(owner).get("/admin/trace/", {"q": "msg-77"}).status_code == 302


def test_staff_without_a_role_cannot_search(story: Delivery, log_in: LogIn) -> None:
    staff = User.objects.create_user("staff", is_staff=True)
    assert log_in(staff).get("/admin/trace/", {"q": "msg-77"}).status_code == 403


def test_the_command_prints_the_story_and_the_search_for_the_logs(story: Delivery) -> None:
    out = StringIO()
    call_command("trace", "INV-0001", stdout=out)
    printed = out.getvalue()
    for part in ("Mama Put Kitchen", "Put right.", "worker-2", "msg-77", "Africa/Lagos"):
        assert part in printed, part
    assert f"grep -E '{story.correlation_id}|req-of-replay'" in printed


def test_the_command_fails_when_nothing_is_found(db: None) -> None:
    with pytest.raises(CommandError, match="Nothing is known of 'INV-9999'"):
        call_command("trace", "INV-9999", stdout=StringIO())


def test_what_was_done_to_the_invoice_is_part_of_the_story(
    invoice: Invoice, organization: Organization, owner: User
) -> None:
    void(invoice.pk, reason="Written twice.", organization=organization, user_id=owner.pk)
    [trace] = tracing.search("INV-0001").traces
    assert [(step.label, step.who, step.sentence) for step in trace.steps] == [
        ("Invoice", "owner", "INV-0001 was voided: Written twice.")
    ]
    out = StringIO()
    call_command("trace", "INV-0001", stdout=out)
    assert "Written twice." in out.getvalue()
