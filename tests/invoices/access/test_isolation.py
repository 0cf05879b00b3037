"""A walk over every address of the site: who gets in, who is refused, and what nobody else sees.

A new address fails `test_every_address_is_listed` until it stands in `rules_of_addresses`.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from pytest_django.fixtures import Settings

from invoices.models import Invoice
from tests.invoices.access import walking
from tests.invoices.access.rules_of_addresses import (
    ANYONE,
    MEMBERS,
    NOBODY,
    OWNERS,
    RULES,
    VIEWERS,
    Rule,
)
from tests.invoices.access.walking import SECRETS, Address, World

Expect = Callable[[Address, Rule, str], int]


@pytest.fixture
def world(db: None) -> World:
    return walking.make_world()


def person(name: str) -> User:
    return User.objects.get(username=name)


# The walk -----------------------------------------------------------------------------------------


@contextmanager
def undone() -> Iterator[None]:
    """Let what is done inside come to nothing, so that the next one finds the same world."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def walk(
    world: World,
    enter: Callable[[], Client],
    expect: Expect,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> dict[str, str]:
    """Ask for everything; fail with all that was answered wrongly. Return what was told."""
    faults, told = [], {}
    listed = [address for address in walking.addresses() if address.name in RULES]
    for address in listed:
        rule = RULES[address.name]
        for path, method in product(address.paths(world), ("GET", "POST")):
            with around():
                response = ask(enter(), method, path, rule.data(world))
                told[f"{method} {path}"] = walking.text_of(response)
            if fault := wrong(rule, method, expect(address, rule, method), response):
                faults.append(f"{method} {path} ({address.name}): {fault}")
    assert not faults, "\n".join(faults)
    return told


@pytest.fixture(autouse=True)
def secret(settings: Settings) -> None:
    """Without one the provider's address answers nobody."""
    settings.EMAIL_PROVIDER_WEBHOOK_KEYS = [b"a key"]


def ask(client: Client, method: str, path: str, data: dict[str, Any]) -> Any:
    return client.get(path) if method == "GET" else client.post(path, data)


def wrong(rule: Rule, method: str, expected: int, response: Any) -> str:
    """Return what is wrong with an answer, or nothing. 200 stands for being let in."""
    status = response.status_code
    to_login = walking.leads_to_login(response)
    if rule.least(method) == NOBODY:
        expected = 405
    elif rule.least(method) == ANYONE:
        return f"{status} came" if status == 405 or status >= 500 else ""
    if expected == 200:
        refused = to_login or status in {401, 403, 404, 405} or status >= 500
        return f"refused with {status}" if refused else ""
    right = to_login if expected == 302 else status == expected
    return "" if right else f"{expected} expected, {status} came"


def of_rank(rank: int, *, program: bool = False) -> Expect:
    """Return what somebody of the organization itself gets."""

    def expect(address: Address, rule: Rule, method: str) -> int:
        if program and rule.refuses_programs(method):
            return 403
        if rank >= rule.least(method):
            return 200
        return 404 if rule.personal else 403

    return expect


def from_elsewhere(*, program: bool = False) -> Expect:
    """Return what an owner of another organization gets."""

    def expect(address: Address, rule: Rule, method: str) -> int:
        if program and rule.refuses_programs(method):
            return 403
        return 404 if rule.is_theirs(address, method) else 200

    return expect


def secrets_in(told: dict[str, str]) -> list[str]:
    return [
        f"{where} tells “{word}”"
        for where, text in told.items()
        for word in SECRETS
        if word in text
    ]


# Who gets in --------------------------------------------------------------------------------------


def test_every_address_is_listed() -> None:
    found = {address.name for address in walking.addresses()}
    unlisted = ", ".join(sorted(found - set(RULES)))
    assert not unlisted, (
        f"Say in rules_of_addresses.RULES who may look at and who may change: {unlisted}."
    )
    gone = ", ".join(sorted(set(RULES) - found))
    assert not gone, f"There is no such address any more, take it out of RULES: {gone}."


def test_who_is_not_logged_in_is_led_to_the_login_and_learns_nothing(world: World) -> None:
    before = walking.all_rows()
    told = walk(world, lambda: walking.browser_of(None), lambda *_: 302)
    assert secrets_in(told) == []
    assert walking.all_rows() == before


def test_another_organizations_owner_finds_nothing_sees_nothing_and_changes_nothing(
    world: World,
) -> None:
    outsider = walking.make_outsider()
    before = walking.all_rows()
    told = walk(world, lambda: walking.browser_of(outsider), from_elsewhere())
    assert secrets_in(told) == []
    assert walking.all_rows() == before
    assert "NK-0001" in told["GET /invoices"]


@pytest.mark.thorough
def test_another_organizations_program_finds_nothing_sees_nothing_and_changes_nothing(
    world: World,
) -> None:
    enter = walking.program_of(walking.make_outsider())
    before = walking.all_rows()
    told = walk(world, enter, from_elsewhere(program=True))
    assert secrets_in(told) == []
    assert walking.all_rows() == before


@pytest.mark.thorough
def test_a_viewer_looks_and_changes_nothing(world: World) -> None:
    before = walking.all_rows()
    told = walk(world, lambda: walking.browser_of(person("viewer")), of_rank(VIEWERS))
    assert walking.all_rows() == before
    assert "QK-0001" in told["GET /invoices"]


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        pytest.param("member", MEMBERS, marks=pytest.mark.thorough),
        pytest.param("owner", OWNERS, marks=pytest.mark.thorough),
    ],
)
def test_members_and_owners_get_in_where_they_may_and_no_further(
    world: World, name: str, rank: int
) -> None:
    walk(world, lambda: walking.browser_of(person(name)), of_rank(rank), around=undone)


@pytest.mark.thorough
def test_an_owners_program_gets_in_where_no_person_is_needed(world: World) -> None:
    enter = walking.program_of(person("owner"))
    walk(world, enter, of_rank(OWNERS, program=True), around=undone)


@pytest.mark.thorough
def test_an_owner_of_an_organization_gets_nowhere_in_the_admin(world: World) -> None:
    owner = person("owner")
    paths = list(walking.admin_paths())
    assert len(paths) > 50
    for path, method in product(paths, ("GET", "POST")):
        if path not in {"/admin/login/", "/admin/logout/"}:
            response = ask(walking.browser_of(owner), method, path, {})
            assert walking.leads_to_login(response), f"{method} {path}: {response.status_code}"


# What forms name ----------------------------------------------------------------------------------


def test_an_outsiders_forms_do_not_take_the_customers_of_others(world: World) -> None:
    client = walking.browser_of(walking.make_outsider())
    customer = world.invoices[0].customer
    for named in (customer.pk, customer.name, customer.email, f"x (#{customer.pk})"):
        data = RULES["new_invoice"].data(world) | {"customer": named}
        assert "There is no customer" in walking.text_of(client.post("/invoices/new", data))
    offered = client.get("/invoices/customers", {"customer": "Wombat"})
    assert "Wombat" not in walking.text_of(offered)
    searched = client.get("/invoices", {"q": "QK-0001", "tab": "all"})
    assert "Wombat" not in walking.text_of(searched)


def test_a_batch_of_an_outsiders_draft_and_anothers_takes_only_the_first(world: World) -> None:
    outsider = walking.make_outsider()
    own = Invoice.objects.get(number="NK-0001")
    data = {"invoice": [own.pk, *(invoice.pk for invoice in world.invoices)]}
    told = walking.text_of(walking.browser_of(outsider).post("/invoices/send", data))
    assert "Send 1 invoice?" in told
    assert [word for word in SECRETS if word in told] == []
