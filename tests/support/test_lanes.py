"""Lanes in the admin: their numbers, their history, and who may see and steer them."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from deliveries import ledger
from deliveries.admin.lanes import HISTORY_SHOWN
from deliveries.models import Lane, LaneEvent
from invoices.models import Organization
from tests.ledger import steps
from tests.support.conftest import LogIn
from tests.support.steering import HOUR, LIST, PAGE, PAUSE, RESUME, pause, resume, text

pytestmark = pytest.mark.thorough

# The list and the page ------------------------------------------------------------------------


def test_the_list_tells_each_lanes_numbers(steerer: Client, organization: Organization) -> None:
    steps.make_deliveries(organization, 4)
    now = timezone.now()
    steps.settle(steps.claim_one(now=now), steps.RETRY, now=now)
    steps.claim(capacity=1, now=now)
    page = text(steerer.get(LIST))
    for part in ("1 of 5", "3 (1 retrying)", "Sending", "no limit", "1 lane"):
        assert part in page


def test_the_list_tells_until_when_a_lane_is_paused_why_and_by_whom(steerer: Client) -> None:
    pause(steerer)
    page = text(steerer.get(LIST))
    assert "Paused" in page
    assert re.search(r"until \d+ \w+ \d{4}, \d\d:\d\d UTC", page)
    assert "Maintenance. (operations)" in page


def test_the_list_costs_the_same_however_many_lanes_there_are(
    steerer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        ledger.pause(f"lane-{number}", reason="because", for_=HOUR)
    with django_assert_max_num_queries(9):
        assert "13 lanes" in text(steerer.get(LIST))


def test_the_page_tells_the_lanes_numbers(steerer: Client, organization: Organization) -> None:
    ledger.configure("email", limit=3, rate_per_second=2.5)
    steps.make_deliveries(organization, 2)
    page = text(steerer.get(PAGE))
    for part in ("0 of 3 at once", "at most 2.5 a second", "2 (2 queued, 0 to be retried)"):
        assert part in page
    assert "It was never paused." in page


def test_an_unknown_lane_is_not_there_and_is_not_made(steerer: Client) -> None:
    for address in ("change", "pause", "resume"):
        form = {"pause-reason": "x", "pause-duration": "1h", "resume-reason": "x"}
        ask = steerer.get if address == "change" else steerer.post
        assert ask(f"{LIST}post/{address}/", form).status_code == 404
    assert Lane.objects.count() == 1


def test_a_name_with_odd_characters_has_a_page(steerer: Client) -> None:
    ledger.configure("bulk_e/mail", limit=5, rate_per_second=None)
    [address] = re.findall(
        r'href="(/admin/deliveries/lane/bulk[^"]+)"', steerer.get(LIST).content.decode()
    )
    page = steerer.get(address).content.decode()
    [target] = re.findall(r'action="([^"]+/pause/)"', page)
    steerer.post(target, {"pause-reason": "Because.", "pause-duration": "1h"})
    assert Lane.objects.get(pk="bulk_e/mail").paused_reason == "Because."
    assert "Lane bulk_e/mail is paused" in text(steerer.get("/admin/"))


# History --------------------------------------------------------------------------------------


def test_the_history_tells_who_did_what_newest_first(steerer: Client) -> None:
    ledger.pause("email", reason="It answers 401.", for_=HOUR)
    resume(steerer, "The key is right.")
    pause(steerer, "By hand.", "open")
    [history] = re.findall(r"History.*", text(steerer.get(PAGE)))
    told = ["Paused operations somebody resumes it By hand.", "Resumed operations The key is right"]
    places = [history.find(part) for part in (*told, "Paused a worker")]
    assert -1 not in places
    assert places == sorted(places)


def test_a_long_history_is_cut(
    steerer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(HISTORY_SHOWN + 1):
        ledger.pause("email", reason=f"Reason {number}.", for_=HOUR + timedelta(hours=number))
    with django_assert_max_num_queries(9):
        page = text(steerer.get(PAGE))
    assert "Reason 1." in page
    assert "Reason 0." not in page


# Who may --------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["support", "auditor"])
def test_others_see_lanes_and_cannot_steer(
    lane: Lane, role: str, log_in: LogIn, request: pytest.FixtureRequest
) -> None:
    client = log_in(request.getfixturevalue(role))
    assert "email" in text(client.get(LIST))
    ledger.pause("email", reason="It answers 401.", for_=HOUR)
    page = client.get(PAGE).content.decode()
    assert "It answers 401." in page
    assert "/pause/" not in page
    assert "/resume/" not in page
    assert (pause(client).status_code, resume(client).status_code) == (403, 403)
    assert Lane.objects.get().paused_reason == "It answers 401."


def test_staff_without_a_role_see_nothing(lane: Lane, log_in: LogIn) -> None:
    client = log_in(User.objects.create_user("new", is_staff=True))
    assert {client.get(address).status_code for address in (LIST, PAGE)} == {403}
    assert (pause(client).status_code, resume(client).status_code) == (403, 403)


def test_members_of_an_organization_do_not_reach_the_lanes(
    lane: Lane, owner: User, log_in: LogIn
) -> None:
    client = log_in(owner)
    for answer in (client.get(PAGE), pause(client), resume(client)):
        assert answer.status_code == 302
        assert "/login" in answer["Location"]
    assert not LaneEvent.objects.exists()


@pytest.mark.parametrize("address", [PAUSE, RESUME])
def test_a_lane_is_steered_by_post_only(steerer: Client, address: str) -> None:
    assert steerer.get(address).status_code == 405
    assert steerer.get(address)["Allow"] == "POST"


@pytest.mark.parametrize("address", [PAUSE, RESUME])
def test_a_forged_form_is_refused(lane: Lane, operations: User, address: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(operations)
    form = {"pause-reason": "x", "pause-duration": "1h", "resume-reason": "x"}
    assert client.post(address, form).status_code == 403
    assert not LaneEvent.objects.exists()


@pytest.mark.parametrize("address", ["add/", "email/delete/", "email/change/"])
def test_nobody_adds_edits_or_deletes_a_lane(lane: Lane, log_in: LogIn, address: str) -> None:
    client = log_in(User.objects.create_superuser("admin"))
    assert client.post(LIST + address, {"limit": "50", "post": "yes"}).status_code == 403
    assert Lane.objects.get().limit == 5
