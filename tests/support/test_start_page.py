"""The admin's start page: the numbers that matter now, to whoever may see them."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from deliveries import ledger, presence
from deliveries.models import Delivery, DeliveryEvent
from invoices.models import Organization
from tests.ledger import steps
from tests.support.conftest import LogIn

pytestmark = pytest.mark.thorough

START = "/admin/"
HOUR = timedelta(hours=1)


@pytest.fixture
def client(support: User, log_in: LogIn) -> Client:
    return log_in(support)


def markup(answer: Any) -> str:
    """Return the part of the page that tells the numbers."""
    assert answer.status_code == 200
    page: str = answer.content.decode()
    found = re.search(r'<div class="right-now".*(?=<div id="content-main")', page, re.DOTALL)
    return found[0] if found else ""


def words(answer: Any) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", markup(answer))))


def refuse(organization: Organization, count: int) -> None:
    """Let the provider refuse so many deliveries, now."""
    steps.make_deliveries(organization, count)
    now = timezone.now()
    for claim in steps.claim(capacity=count, now=now):
        steps.settle(claim, steps.REFUSED, now=now)


def test_an_empty_house_is_calm(client: Client) -> None:
    page = words(client.get(START))
    for part in ("Nothing waits for a person.", "0 alive", "Nothing was sent, and nothing died."):
        assert part in page
    assert "alarm" not in markup(client.get(START))


def test_the_dead_are_told_by_reason(client: Client, organization: Organization) -> None:
    refuse(organization, 2)
    page = words(client.get(START))
    assert "Dead letters 2 The provider refused it 2" in page
    assert "Every attempt failed" not in page


def test_each_reason_leads_to_its_dead_letters(client: Client, organization: Organization) -> None:
    refuse(organization, 1)
    dead_letters = reverse("admin:deliveries_deadletter_changelist")
    assert f'href="{dead_letters}?dead_reason=rejected"' in markup(client.get(START))


def test_what_waits_longest_is_told(client: Client, organization: Organization) -> None:
    steps.make_deliveries(organization, 3)
    now = timezone.now()
    Delivery.objects.update(waiting_since=now - timedelta(minutes=12, seconds=5))
    presence.beat("lagos-1", threads=5, in_flight=0)
    page = words(client.get(START))
    assert "Oldest waiting 12 min Waiting 3 Being sent 0" in page
    assert "email 0 of 5 running, 3 waiting" in page
    assert "No worker is alive" not in page


def test_nobody_working_while_something_waits_is_loud(
    client: Client, organization: Organization
) -> None:
    steps.make_deliveries(organization, 1)
    presence.beat("gone", threads=5, in_flight=0, now=timezone.now() - HOUR)
    page = words(client.get(START))
    assert "No worker is alive while 1 waits." in page
    assert "1 gone" in page


def test_a_paused_lane_is_loud_with_its_reason_and_who(client: Client, operations: User) -> None:
    ledger.pause("email", reason="By <hand>.", for_=HOUR, actor_id=operations.pk)
    page = words(client.get(START))
    assert re.search(r"Lane email is paused until \d+ \w+, \d\d:\d\d UTC: By <hand>\.", page)
    assert "— operations" in page
    assert "1 paused" in page
    assert "<hand>" not in markup(client.get(START))


def test_the_last_day_is_drawn(client: Client, organization: Organization) -> None:
    refuse(organization, 2)
    drawn = markup(client.get(START))
    assert '<rect class="chart-dead"' in drawn
    assert '<rect class="chart-sent"' not in drawn
    assert "0 sent and 2 dead." in words(client.get(START))
    assert drawn.count('<th scope="row">') == 24


def test_many_are_told_with_their_thousands(client: Client, delivery: Delivery) -> None:
    event = DeliveryEvent(delivery=delivery, type="sent", correlation_id="c", sentence="s")
    event.at = timezone.now()
    DeliveryEvent.objects.bulk_create([event] * 1234)
    page = words(client.get(START))
    assert "1,234 sent an hour at most" in page
    assert re.search(r"Most were sent at \d\d:00–\d\d:00 UTC: 1,234\.", page)


def test_the_page_needs_no_exception_from_a_strict_content_policy(
    client: Client, organization: Organization
) -> None:
    refuse(organization, 1)
    ledger.pause("email", reason="because", for_=HOUR)
    page = client.get(START).content.decode()
    assert not re.search(r"<[^>]+\sstyle=|<[^>]+\son\w+=|<style", markup(client.get(START)))
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))


def test_the_page_costs_the_same_however_much_there_is(
    client: Client,
    organization: Organization,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    refuse(organization, 5)
    for number in range(10):
        ledger.pause(f"lane-{number}", reason="because", for_=HOUR)
        presence.beat(f"worker-{number}", threads=5, in_flight=0)
    with django_assert_max_num_queries(12):
        client.get(START)


# Who may --------------------------------------------------------------------------------------

PARTS = {
    "view_delivery": ("Dead letters", "Oldest waiting", "Last 24 hours"),
    "view_lane": ("Lanes",),
    "view_workerpresence": ("Workers",),
}


@pytest.mark.parametrize("permission", PARTS)
def test_each_part_is_for_who_may_see_it(
    permission: str, log_in: LogIn, organization: Organization
) -> None:
    steps.make_deliveries(organization, 1)
    ledger.pause("email", reason="because", for_=HOUR)
    person = User.objects.create_user("new", is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename=permission))
    page = words(log_in(person).get(START))
    for needed, parts in PARTS.items():
        assert all((part in page) is (needed == permission) for part in parts)
    assert ("is paused" in page) is (permission == "view_lane")


def test_staff_without_a_role_see_no_numbers(
    log_in: LogIn, organization: Organization, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    refuse(organization, 1)
    browser = log_in(User.objects.create_user("new", is_staff=True))
    with django_assert_max_num_queries(7):
        answer = browser.get(START)
    assert markup(answer) == ""


@pytest.mark.parametrize("role", ["support", "operations", "auditor"])
def test_every_role_sees_the_numbers(
    db: None, role: str, log_in: LogIn, request: pytest.FixtureRequest
) -> None:
    page = words(log_in(request.getfixturevalue(role)).get(START))
    assert all(part in page for parts in PARTS.values() for part in parts)


def test_members_of_an_organization_do_not_reach_it(owner: User, log_in: LogIn) -> None:
    assert log_in(owner).get(START).status_code == 302
