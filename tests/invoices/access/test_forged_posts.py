"""No page of another site can post in somebody's name: a walk over every address, the admin's too.

A new address is walked without being listed here; only one that is no browser's stands in EXEMPT.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client
from pytest_django.fixtures import Settings

from invoices import tokens
from tests.invoices.access import walking
from tests.invoices.access.rules_of_addresses import NOBODY, RULES
from tests.invoices.access.walking import World

pytestmark = pytest.mark.thorough

# The provider's, by its signature.
EXEMPT = {"email_events"}
OTHER = "x" * 32


@pytest.fixture
def world(db: None) -> World:
    return walking.make_world()


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    return HttpResponse(status=403, headers={"X-Forged": "yes"})


@pytest.fixture(autouse=True)
def told_apart(settings: Settings) -> None:
    settings.CSRF_FAILURE_VIEW = f"{__name__}.forged"


def posts(world: World) -> list[tuple[str, dict[str, Any]]]:
    """Return each path that something can be posted to, and what."""
    return [
        (path, RULES[address.name].data(world))
        for address in walking.addresses()
        if address.name not in EXEMPT and RULES[address.name].change != NOBODY
        for path in address.paths(world)
    ]


def browser_of(person: User) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)
    return client


def without_token(client: Client, path: str, data: dict[str, Any]) -> Any:
    return client.post(path, data)


def with_cookie_alone(client: Client, path: str, data: dict[str, Any]) -> Any:
    client.get("/login")
    client.cookies["csrftoken"] = OTHER
    return client.post(path, data)


def with_another_token(client: Client, path: str, data: dict[str, Any]) -> Any:
    client.cookies["csrftoken"] = OTHER
    return client.post(path, data | {"csrfmiddlewaretoken": "y" * 32})


def from_another_site(client: Client, path: str, data: dict[str, Any]) -> Any:
    client.cookies["csrftoken"] = OTHER
    data = data | {"csrfmiddlewaretoken": OTHER}
    return client.post(path, data, headers={"Origin": "https://evil.example"})


def by_script(client: Client, path: str, data: dict[str, Any]) -> Any:
    headers = {"HX-Request": "true", "X-Requested-With": "XMLHttpRequest"}
    return client.post(path, data, headers=headers)


def with_no_real_bearer_token(client: Client, path: str, data: dict[str, Any]) -> Any:
    return client.post(path, data, headers={"Authorization": "Basic eDp4"})


FORGED = [
    *(without_token, with_cookie_alone, with_another_token, from_another_site),
    *(by_script, with_no_real_bearer_token),
]


@pytest.mark.parametrize("forge", FORGED)
def test_no_address_takes_a_forged_post(world: World, forge: Callable[..., Any]) -> None:
    client = browser_of(User.objects.get(username="owner"))
    walked, before = posts(world), walking.all_rows()
    assert len(walked) > 40
    taken = [
        f"POST {path}: {answer.status_code}"
        for path, data in walked
        if not is_refused(answer := forge(client, path, data))
    ]
    assert not taken, "\n".join(taken)
    assert walking.all_rows() == before


@pytest.mark.parametrize("forge", [without_token, from_another_site])
def test_no_address_of_the_admin_does(world: World, forge: Callable[..., Any]) -> None:
    superuser = User.objects.create_superuser("admin", password="a password")
    before, people = walking.all_rows(), User.objects.count()
    client = browser_of(superuser)
    taken = [
        f"POST {path}: {answer.status_code}"
        for path in walking.admin_paths()
        if not is_refused(answer := forge(client, path, {}))
    ]
    assert not taken, "\n".join(taken)
    assert (walking.all_rows(), User.objects.count()) == (before, people)


def test_nobody_is_logged_in_by_a_forged_post(world: World) -> None:
    stranger = Client(enforce_csrf_checks=True)
    form = {"username": "owner", "password": "a long password 1"}
    for path in ("/login", "/admin/login/", f"/invitations/{world.invitation_token}"):
        stranger.post(path, form)
    assert "sessionid" not in stranger.cookies


def test_a_program_and_the_provider_need_no_token(world: World, settings: Settings) -> None:
    settings.EMAIL_PROVIDER_WEBHOOK_KEYS = [b"a key"]
    token = tokens.issue(User.objects.get(username="member").memberships.get(), name="ERP")
    program = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {token}"})
    assert program.post(f"/invoices/{world.invoices[0].pk}/send").status_code == 202
    answer = Client(enforce_csrf_checks=True).post("/webhooks/email", {})
    assert not is_refused(answer)


def is_refused(answer: Any) -> bool:
    """Tell whether it was refused as forged, and not for what the person may not do."""
    return bool(answer.status_code == 403 and answer.headers.get("X-Forged") == "yes")
