"""Wrong codes slow down whoever guesses, and do not shut the owner out for long."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice
from freezegun.api import FrozenDateTimeFactory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from invoicehub.second_step import devices, waiting
from tests.security.test_second_step import (
    PAGE,
    SETUP,
    backup,
    by_password,
    clock,
    code_now,
    code_of,
    enter,
    goes_to,
    staff,
)

pytestmark = pytest.mark.thorough

__all__ = ["backup", "clock", "staff"]

LIMIT = 15 * 60


def guess(user: User, times: int, clock: FrozenDateTimeFactory, code: str = "000000") -> None:
    """Guess as often as it is looked at, and once more, at the worst moment."""
    for _ in range(times):
        devices.check(user, code)
        clock.tick(LIMIT)
    devices.check(user, code)


def test_a_session_from_before_the_app_was_set_up_is_asked(staff: User) -> None:
    old, new = by_password(staff), by_password(staff)
    assert old.get("/admin/").status_code == 200
    new.get(SETUP)
    assert new.post(SETUP, {"code": code_now(staff)}).status_code == 200
    for page in ("/admin/", "/admin/auth/user/", "/invoices", SETUP, "/admin/password_change/"):
        assert goes_to(old.get(page)).startswith(PAGE)
    assert goes_to(old.post("/admin/auth/group/add/", {"name": "x"})).startswith(PAGE)
    assert new.get("/admin/").status_code == 200


def test_who_becomes_staff_meanwhile_is_asked(staff: User, backup: list[str]) -> None:
    User.objects.update(is_staff=False)
    client = by_password(staff)
    assert client.get("/invoices").status_code == 200
    User.objects.update(is_staff=True)
    assert goes_to(client.get("/admin/")).startswith(PAGE)


def test_who_passed_by_a_backup_code_has_passed_with_new_ones_too(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory
) -> None:
    client = by_password(staff)
    enter(client, backup[0])
    assert client.post("/login/second-step/codes", {"code": code_now(staff)}).status_code == 200
    assert client.get("/admin/").status_code == 200


@pytest.mark.parametrize("right", [lambda user, _: code_now(user), lambda _, codes: codes[0]])
def test_after_any_number_of_wrong_codes_a_right_one_is_taken_within_fifteen_minutes(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory, right: Callable[..., str]
) -> None:
    wrong = "000000" if right(staff, backup).isdigit() else "aaaa-aaaa"
    guess(staff, 30, clock, wrong)
    clock.tick(LIMIT - 2)
    assert devices.check(staff, right(staff, backup)) is None
    clock.tick(2)
    assert devices.check(staff, right(staff, backup)) is not None


def test_a_wait_of_days_from_an_earlier_release_ends(staff: User, backup: list[str]) -> None:
    now = TOTPDevice.objects.get().created_at
    TOTPDevice.objects.update(
        throttling_failure_count=30, throttling_failure_timestamp=now - timedelta(hours=1)
    )
    assert devices.check(staff, code_now(staff)) is not None


@given(count=st.integers(1, 100_000), elapsed=st.integers(0, 2 * LIMIT))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
def test_no_wait_is_longer_than_the_limit_and_none_shorter_than_the_library_s(
    clock: FrozenDateTimeFactory, count: int, elapsed: int
) -> None:
    device = TOTPDevice(
        throttling_failure_count=count,
        throttling_failure_timestamp=timezone.now() - timedelta(seconds=elapsed),
    )
    due = min(2 ** min(count - 1, 20), LIMIT)
    assert waiting.seconds_to_wait(device) == max(0, due - elapsed)


def test_guesses_at_one_device_make_at_most_this_many_a_day(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory
) -> None:
    guess(staff, 12, clock)
    looked_at, before = 0, TOTPDevice.objects.get().throttling_failure_timestamp
    for _ in range(24 * 12):
        clock.tick(300)
        devices.check(staff, "000000")
        after = TOTPDevice.objects.get().throttling_failure_timestamp
        looked_at += after != before
        before = after
    assert looked_at == 96


def test_the_page_says_how_long(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory
) -> None:
    client = by_password(staff)
    assert "is taken for another" not in text(client.get(PAGE))
    guess(staff, 12, clock)
    answer = text(enter(client, code_now(staff)))
    assert "No code of the app is taken for another 15 minutes." in answer
    assert "somebody knows your password" in answer
    assert "backup code is taken for another" not in answer
    clock.tick(LIMIT - 40)
    assert "another 40 seconds." in text(client.get(PAGE))
    devices.check(staff, "aaaa-aaaa")
    assert "No backup code is taken for another 1 second." in text(client.get(PAGE))


def test_a_change_says_how_long_as_well(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory
) -> None:
    client = by_password(staff)
    enter(client, backup[0])
    guess(staff, 12, clock)
    form = {"code": code_now(staff)}
    answer = client.post("/login/second-step/off", form, follow=True)
    assert "another 15 minutes." in text(answer)
    assert devices.is_set_up(staff)


def test_setting_it_up_says_how_long(staff: User, clock: FrozenDateTimeFactory) -> None:
    client = by_password(staff)
    client.get(SETUP)
    assert "another 1 second." in text(client.post(SETUP, {"code": "000000"}))


def text(answer: Any) -> str:
    assert answer.status_code == 200
    content: str = answer.content.decode()
    return content


# Reset ----------------------------------------------------------------------------------------


def test_a_reset_lets_the_person_set_it_up_anew_and_stands_in_the_history(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory, caplog: Any, capsys: Any
) -> None:
    client = by_password(staff)
    guess(staff, 12, clock)
    with caplog.at_level("WARNING"):
        call_command("reset_second_step", "support", "--reason", "Lost the phone")
    assert "reset" in capsys.readouterr().out
    [line] = [line for line in caplog.records if line.message == "second step given up"]
    assert line.user == staff.pk
    assert client.get("/admin/").status_code == 200
    assert not StaticDevice.objects.exists()
    history = text(client.get(f"/admin/auth/user/{staff.pk}/history/"))
    assert "Second step reset by manage.py reset_second_step: Lost the phone" in history
    app = devices.app_to_set_up(staff)
    assert devices.confirm(staff, code_of(app))


def test_a_session_that_passed_is_asked_for_the_new_app(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory
) -> None:
    old = by_password(staff)
    enter(old, code_now(staff))
    call_command("reset_second_step", "support", "--reason", "x")
    assert devices.confirm(staff, code_of(devices.app_to_set_up(staff)))
    assert goes_to(old.get("/admin/")).startswith(PAGE)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "a\nb", "a\0b"])
def test_a_reset_takes_a_reason(staff: User, backup: list[str], reason: str) -> None:
    with pytest.raises(CommandError, match="--reason"):
        call_command("reset_second_step", "support", "--reason", reason)
    assert devices.is_set_up(staff)


def test_a_reset_of_nobody_or_nothing_changes_nothing(
    staff: User, owner: User, backup: list[str], capsys: Any
) -> None:
    with pytest.raises(CommandError, match="nobody called"):
        call_command("reset_second_step", "nobody", "--reason", "x")
    call_command("reset_second_step", "owner", "--reason", "x")
    assert "Nothing was changed" in capsys.readouterr().out
    assert not LogEntry.objects.exists()
    assert devices.is_set_up(staff)
