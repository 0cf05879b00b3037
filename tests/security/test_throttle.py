"""Guessing passwords is slow, and does not shut anybody else out."""

from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from pytest_django.fixtures import Settings

from invoicehub import throttle
from invoicehub.models import LoginFailures

PASSWORD = "a long password 1"
PAGES = pytest.mark.parametrize("page", ["/login", "/admin/login/"])


def log_in(
    client: Client,
    name: str,
    password: str = "wrong",  # noqa: S107
    *,
    page: str = "/login",
    at: str = "192.0.2.1",
) -> Any:
    return client.post(
        page,
        {"username": name, "password": password},
        headers={"Accept": "text/html"},
        REMOTE_ADDR=at,
    )


def fail(times: int, name: str, *, at: str = "192.0.2.1", page: str = "/login") -> None:
    for _ in range(times):
        assert log_in(Client(), name, at=at, page=page).status_code == 200


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "OF_A_NAME_FROM_AN_ADDRESS", 2)
    monkeypatch.setattr(throttle, "OF_A_BROWSER", 2)
    monkeypatch.setattr(throttle, "OF_A_NAME", 4)
    monkeypatch.setattr(throttle, "OF_AN_ADDRESS", 6)


@PAGES
def test_after_too_many_failures_even_the_right_password_waits(
    owner: User, few: None, page: str
) -> None:
    fail(2, "owner", page=page)
    answer = log_in(Client(), "owner", PASSWORD, page=page)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 900
    assert "Wait 15 minutes" in answer.content.decode()
    assert "sessionid" not in answer.cookies


def test_a_program_is_told_in_json(owner: User, few: None) -> None:
    fail(2, "owner")
    answer = Client().post(
        "/login", {"username": "owner", "password": "x"}, REMOTE_ADDR="192.0.2.1"
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_attempts")


def test_the_wait_ends_by_itself_and_is_not_prolonged(owner: User, few: None) -> None:
    fail(2, "owner")
    before = LoginFailures.objects.values_list("since", flat=True).order_by("key")
    starts = list(before)
    assert log_in(Client(), "owner").status_code == 429
    assert list(before.all()) == starts
    LoginFailures.objects.update(since=Now() - throttle.WINDOW)
    assert log_in(Client(), "owner", PASSWORD).status_code == 302


@pytest.mark.parametrize("name", ["OWNER", "ｏｗｎｅｒ"])
def test_another_spelling_is_the_same_name(owner: User, few: None, name: str) -> None:
    fail(2, "owner")
    assert log_in(Client(), name).status_code == 429


def test_colleagues_at_the_same_address_are_not_held_up(
    owner: User, viewer: User, few: None
) -> None:
    fail(2, "owner")
    assert log_in(Client(), "viewer", PASSWORD).status_code == 302


def test_an_address_that_tries_many_names_waits(owner: User, few: None) -> None:
    for number in range(6):
        fail(1, f"name-{number}")
    assert log_in(Client(), "owner", PASSWORD).status_code == 429
    assert log_in(Client(), "owner", PASSWORD, at="198.51.100.7").status_code == 302


def test_a_name_guessed_at_from_many_addresses_waits(owner: User, few: None) -> None:
    for number in range(4):
        fail(1, "owner", at=f"198.51.100.{number}")
    assert log_in(Client(), "owner", PASSWORD, at="203.0.113.9").status_code == 429


def test_whoever_logged_in_in_this_browser_before_is_not_held_up(owner: User, few: None) -> None:
    mine = Client()
    assert log_in(mine, "owner", PASSWORD).status_code == 302
    mine.post("/logout")
    for number in range(4):
        fail(1, "owner", at=f"198.51.100.{number}")
    assert log_in(Client(), "owner", PASSWORD).status_code == 429
    assert log_in(mine, "owner", PASSWORD).status_code == 302


def test_logins_and_known_browsers_outlive_a_new_secret_key(
    owner: User, few: None, settings: Settings
) -> None:
    browser = Client()
    log_in(browser, "owner", PASSWORD)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "k" * 50
    fail(2, "owner")
    assert browser.get("/invoices").status_code == 200
    browser.post("/logout")
    assert log_in(Client(), "owner", PASSWORD).status_code == 429
    assert log_in(browser, "owner", PASSWORD).status_code == 302


def test_a_known_browser_guesses_no_faster(owner: User, few: None) -> None:
    mine = Client()
    log_in(mine, "owner", PASSWORD)
    mine.post("/logout")
    assert [log_in(mine, "owner").status_code for _ in range(3)] == [200, 200, 429]


def test_a_browser_is_known_for_those_alone_who_logged_in_there(
    owner: User, viewer: User, few: None
) -> None:
    mine = Client()
    log_in(mine, "viewer", PASSWORD)
    mine.post("/logout")
    fail(2, "owner")
    assert log_in(mine, "owner", PASSWORD).status_code == 429


def test_a_forged_cookie_makes_no_browser_known(owner: User, few: None) -> None:
    fail(2, "owner")
    forger = Client()
    forger.cookies = SimpleCookie({"knownbrowser": "forged:1abc:signature"})
    assert log_in(forger, "owner", PASSWORD).status_code == 429


def test_success_forgives_the_name_but_not_the_address(
    owner: User, viewer: User, few: None
) -> None:
    fail(1, "owner")
    log_in(Client(), "owner", PASSWORD)
    fail(2, "owner")
    assert sorted(LoginFailures.objects.values_list("failures", flat=True)) == [2, 3, 3]


def test_whoever_is_logged_in_cannot_excuse_guesses_at_others(
    owner: User, viewer: User, few: None
) -> None:
    fail(2, "owner")
    stranger = Client()
    stranger.force_login(viewer)
    for page in ("/login", "/admin/login/"):
        log_in(stranger, "owner", page=page)
    assert log_in(Client(), "owner", PASSWORD).status_code == 429


def test_an_ipv6_caller_cannot_hide_behind_the_addresses_of_its_network(
    owner: User, few: None
) -> None:
    for number in range(2):
        fail(1, "owner", at=f"2001:db8:1:2::{number}")
    assert log_in(Client(), "owner", PASSWORD, at="2001:db8:1:2:ffff::1").status_code == 429


def test_behind_a_proxy_the_last_address_it_heard_from_counts(
    owner: User, few: None, settings: Settings
) -> None:
    settings.TRUSTED_PROXIES = 1

    def at(forwarded: str) -> int:
        form = {"username": "owner", "password": PASSWORD + forwarded[:1]}
        headers = {"X-Forwarded-For": forwarded, "Accept": "text/html"}
        return Client().post("/login", form, headers=headers).status_code

    assert [at("10.0.0.1, 192.0.2.1"), at("10.0.0.2, 192.0.2.1")] == [200, 200]
    assert at("10.0.0.3, 192.0.2.1") == 429
    assert at("10.0.0.3, 192.0.2.2") == 200


@pytest.mark.parametrize("forwarded", ["", "not an address", "1.2.3.4:80, ,", "é" * 100])
def test_an_odd_address_is_no_address(
    owner: User, few: None, settings: Settings, forwarded: str
) -> None:
    settings.TRUSTED_PROXIES = 1
    answer = Client().post(
        "/login",
        {"username": "owner", "password": PASSWORD},
        headers={"X-Forwarded-For": forwarded},
    )
    assert answer.status_code == 302


@pytest.mark.parametrize("name", ["", "x" * 100_000, "a\nb", "\ud7ff\U0010ffff"])
def test_odd_names_are_counted_like_others(db: None, few: None, name: str) -> None:
    assert [log_in(Client(), name).status_code for _ in range(3)] == [200, 200, 429]


def test_the_table_tells_no_name_and_no_address(owner: User) -> None:
    fail(1, "owner")
    keys = list(LoginFailures.objects.values_list("key", flat=True))
    assert len(keys) == 3
    assert all(len(key) == 64 and int(key, 16) for key in keys)


def test_what_is_over_is_forgotten(owner: User) -> None:
    fail(1, "somebody")
    LoginFailures.objects.update(since=Now() - throttle.WINDOW - timedelta(minutes=1))
    fail(1, "owner", at="198.51.100.1")
    assert LoginFailures.objects.count() == 3


def test_old_rows_are_found_by_an_index(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN " + throttle._FORGET, {"window": "15 minutes"})
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "login_failures_since" in plan
