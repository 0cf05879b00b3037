"""Workers in the admin: who runs, since when, when last seen, and who vanished."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from deliveries import presence
from deliveries.models import WorkerPresence
from tests.support.conftest import LogIn

LIST = "/admin/deliveries/workerpresence/"


def beat(name: str, *, ago: float = 0, in_flight: int = 2) -> None:
    seen = timezone.now() - timedelta(seconds=ago)
    presence.beat(name, threads=5, in_flight=in_flight, now=seen)


def rows(answer: Any) -> list[str]:
    """Return the list's rows as words."""
    assert answer.status_code == 200
    page = answer.content.decode()
    found = re.findall(r"<tr>(<th class=\"field.*?)</tr>", page, re.DOTALL)
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in found]


@pytest.fixture
def client(operations: User, log_in: LogIn) -> Client:
    return log_in(operations)


def test_a_living_worker_tells_since_when_it_runs_and_how_much_it_has(client: Client) -> None:
    beat("lagos-1", ago=7200)
    beat("lagos-1", ago=2, in_flight=3)
    [row] = rows(client.get(LIST))
    assert re.match(r"lagos-1 Alive [23] s ago \d+ \w+, \d\d:\d\d:\d\d UTC \(2 h\) 3 of 5", row)


def test_one_that_vanished_is_marked_and_comes_last(client: Client) -> None:
    beat("a-gone", ago=3700)
    beat("b-alive", ago=10)
    alive, gone = rows(client.get(LIST))
    assert alive.startswith("b-alive Alive 1")
    assert re.match(r"a-gone Gone 1 h 1 min ago .* 2 of 5 when last seen", gone)


def test_the_living_keep_their_place_whoever_was_seen_last(client: Client) -> None:
    beat("a", ago=9)
    beat("b", ago=1)
    assert [row[0] for row in rows(client.get(LIST))] == ["a", "b"]


def test_a_workers_page_tells_the_same(client: Client) -> None:
    beat("lagos-1:7", ago=60)
    page = client.get(f"{LIST}lagos-1_3A7/change/").content.decode()
    assert "Gone" in page
    assert "1 min ago" in page


def test_the_list_costs_the_same_however_many_there_are(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        beat(f"worker-{number}")
    with django_assert_max_num_queries(8):
        assert len(rows(client.get(LIST))) == 20


@pytest.mark.parametrize("role", ["support", "operations", "auditor"])
def test_every_role_sees_workers_and_nobody_changes_them(
    db: None, role: str, log_in: LogIn, request: pytest.FixtureRequest
) -> None:
    browser = log_in(request.getfixturevalue(role))
    beat("lagos-1")
    assert len(rows(browser.get(LIST))) == 1
    for address in ("add/", "lagos-1/change/", "lagos-1/delete/"):
        assert browser.post(LIST + address, {"post": "yes"}).status_code == 403
    assert WorkerPresence.objects.exists()


def test_staff_without_a_role_see_no_workers(log_in: LogIn, db: None) -> None:
    browser = log_in(User.objects.create_user("new", is_staff=True))
    assert browser.get(LIST).status_code == 403
