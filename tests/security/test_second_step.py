"""Staff may log in by two steps, and must where that is asked of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from freezegun import freeze_time
from freezegun.api import FrozenDateTimeFactory
from pytest_django.fixtures import Settings

from invoicehub.second_step import devices
from invoices import tokens
from invoices.models import Member, Organization
from tests import factories

PAGE, SETUP = "/login/second-step", "/login/second-step/app"
PASSWORD = "a long password 1"


@pytest.fixture
def clock() -> Iterator[FrozenDateTimeFactory]:
    with freeze_time("2026-03-02 09:00:00") as clock:
        assert isinstance(clock, FrozenDateTimeFactory)
        yield clock


@pytest.fixture
def staff(organization: Organization, clock: FrozenDateTimeFactory) -> User:
    user = factories.make_member(organization, "support", "viewer")
    user.is_staff = user.is_superuser = True
    user.save(update_fields=["is_staff", "is_superuser"])
    return user


@pytest.fixture
def backup(staff: User, clock: FrozenDateTimeFactory) -> list[str]:
    """The backup codes of `staff`, whose app is set up."""
    app = devices.app_to_set_up(staff)
    confirmed = devices.confirm(staff, code_of(app))
    assert confirmed
    clock.tick(60)
    return confirmed[1]


@pytest.fixture
def required(settings: Settings) -> None:
    settings.REQUIRE_STAFF_TOTP = True


def code_of(app: TOTPDevice) -> str:
    return f"{TOTP(app.bin_key).token():06d}"


def code_now(user: User) -> str:
    return code_of(TOTPDevice.objects.get(user=user))


def by_password(user: User) -> Client:
    client = Client(headers={"Accept": "text/html"})
    client.post("/login", {"username": user.username, "password": PASSWORD})
    return client


def enter(client: Client, code: str, **more: str) -> Any:
    return client.post(PAGE, {"code": code, **more})


def goes_to(answer: Any) -> str:
    assert answer.status_code == 302
    location: str = answer.headers["Location"]
    return location


def test_without_it_nothing_changes(staff: User) -> None:
    assert by_password(staff).get("/admin/").status_code == 200


def test_setting_it_up_takes_a_code_and_shows_backup_codes_once(staff: User) -> None:
    client = by_password(staff)
    shown = client.get(SETUP).content.decode()
    assert "data:image/svg+xml" in shown
    assert client.post(SETUP, {"code": "000000"}).status_code == 200
    assert not devices.is_set_up(staff)
    TOTPDevice.objects.update(throttling_failure_count=0, throttling_failure_timestamp=None)
    page = client.post(SETUP, {"code": code_now(staff)}).content.decode()
    assert page.count("<li><code>") == devices.BACKUP_CODES
    assert client.get("/admin/").status_code == 200
    again = client.get(SETUP).content.decode()
    assert "10 backup codes are left" in again
    assert "data:image/svg+xml" not in again


def test_the_key_stays_the_same_until_it_is_confirmed(staff: User) -> None:
    client = by_password(staff)
    client.get(SETUP)
    client.get(SETUP)
    assert TOTPDevice.objects.count() == 1


@pytest.mark.parametrize("page", ["/invoices", "/admin/", "/settings", SETUP])
def test_after_the_password_alone_every_page_asks_for_the_code(
    staff: User, backup: list[str], page: str
) -> None:
    client = by_password(staff)
    assert goes_to(client.get(page)).startswith(f"{PAGE}?next=")


def test_a_change_waits_for_the_code_as_well(staff: User, backup: list[str]) -> None:
    client = by_password(staff)
    assert goes_to(client.post("/login/second-step/off", {"code": "x"})).startswith(PAGE)
    answer = client.post("/organization", headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "second_step_required")
    answer = client.get("/invoices", headers={"HX-Request": "true"})
    assert answer.headers["HX-Refresh"] == "true"


def test_the_right_code_leads_on(staff: User, backup: list[str]) -> None:
    client = by_password(staff)
    key = client.session.session_key
    assert goes_to(enter(client, code_now(staff), next="/admin/")) == "/admin/"
    assert client.get("/admin/").status_code == 200
    assert client.session.session_key != key


def test_a_code_works_once(staff: User, backup: list[str]) -> None:
    code = code_now(staff)
    assert enter(by_password(staff), code).status_code == 302
    answer = enter(by_password(staff), code)
    assert answer.status_code == 200
    assert "was used before" in answer.content.decode()


@pytest.mark.parametrize("code", ["", "123", "000000", "é" * 32, "x" * 1000, "१२३४५६", "-1"])
def test_a_wrong_code_leads_nowhere(staff: User, backup: list[str], code: str) -> None:
    client = by_password(staff)
    assert enter(client, code).status_code == 200
    assert goes_to(client.get("/invoices")).startswith(PAGE)


def test_after_wrong_codes_even_the_right_one_waits(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory
) -> None:
    client = by_password(staff)
    for _ in range(3):
        enter(client, "000000")
        clock.tick(5)
    TOTPDevice.objects.update(throttling_failure_count=6)
    assert enter(client, code_now(staff)).status_code == 200
    clock.tick(60)
    assert enter(client, code_now(staff)).status_code == 302


def test_a_backup_code_works_once_also_while_the_app_waits(staff: User, backup: list[str]) -> None:
    client = by_password(staff)
    enter(client, "000000")
    assert enter(client, f" {backup[0].upper()} ").status_code == 302
    assert enter(by_password(staff), backup[0]).status_code == 200
    assert devices.codes_left(staff) == devices.BACKUP_CODES - 1


def test_backup_codes_are_kept_so_that_they_cannot_be_typed_in(
    staff: User, backup: list[str]
) -> None:
    stored = set(StaticToken.objects.values_list("token", flat=True))
    assert not stored & {code.replace("-", "") for code in backup}
    assert enter(by_password(staff), stored.pop()).status_code == 200


def test_backup_codes_outlive_a_new_secret_key(
    staff: User, backup: list[str], settings: Settings
) -> None:
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "k" * 50
    assert devices.check(staff, backup[0]) is not None
    assert devices.check(staff, backup[0]) is None
    settings.SECRET_KEY_FALLBACKS = []
    assert devices.check(staff, backup[1]) is None


def test_new_backup_codes_end_the_old_ones(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory
) -> None:
    client = by_password(staff)
    enter(client, code_now(staff))
    clock.tick(60)
    answer = client.post("/login/second-step/codes", {"code": code_now(staff)})
    assert answer.content.decode().count("<li><code>") == devices.BACKUP_CODES
    assert devices.check(staff, backup[0]) is None


def test_turning_it_off_takes_a_code(
    staff: User, backup: list[str], clock: FrozenDateTimeFactory
) -> None:
    client = by_password(staff)
    enter(client, code_now(staff))
    client.post("/login/second-step/off", {"code": "wrong"})
    assert devices.is_set_up(staff)
    clock.tick(5)
    client.post("/login/second-step/off", {"code": backup[1]})
    assert not devices.is_set_up(staff)
    assert not StaticDevice.objects.exists()
    assert by_password(staff).get("/admin/").status_code == 200


def test_where_it_is_required_the_admin_leads_to_setting_it_up(staff: User, required: None) -> None:
    client = by_password(staff)
    assert goes_to(client.get("/admin/")) == f"{SETUP}?next=/admin/"
    client.get(SETUP)
    client.post(SETUP, {"code": code_now(staff)})
    assert client.get("/admin/").status_code == 200


def test_where_it_is_required_a_session_from_before_is_asked(staff: User, required: None) -> None:
    old = by_password(staff)
    app = devices.app_to_set_up(staff)
    devices.confirm(staff, code_of(app))
    assert goes_to(old.get("/admin/")).startswith(PAGE)


def test_another_device_of_somebody_else_proves_nothing(
    staff: User, backup: list[str], owner: User, required: None
) -> None:
    owner.is_staff = True
    owner.save(update_fields=["is_staff"])
    client = by_password(owner)
    session = client.session
    session["otp_device_id"] = TOTPDevice.objects.get(user=staff).persistent_id
    session.save()
    assert goes_to(client.get("/admin/")).startswith(SETUP)


def test_logging_in_again_owes_a_code_again(staff: User, backup: list[str]) -> None:
    client = by_password(staff)
    enter(client, code_now(staff))
    client.post("/admin/login/", {"username": "support", "password": PASSWORD})
    assert goes_to(client.get("/admin/")).startswith(PAGE)


def test_an_address_elsewhere_is_not_gone_to(staff: User, backup: list[str]) -> None:
    answer = enter(by_password(staff), code_now(staff), next="https://evil.example/")
    assert goes_to(answer) == "/"


def test_a_reset_by_an_administrator_lets_the_person_on(staff: User, backup: list[str]) -> None:
    client = by_password(staff)
    devices.give_up(staff)
    assert goes_to(client.get(PAGE)) == "/"
    assert client.get("/invoices").status_code == 200


def test_a_program_s_token_is_not_asked(staff: User, backup: list[str]) -> None:
    token = tokens.issue(Member.objects.get(user=staff), name="ERP")
    bearer = {"Authorization": f"Bearer {token}", "Accept": "text/html"}
    assert Client().get("/invoices", headers=bearer).status_code == 200
    assert Client().get(SETUP, headers=bearer).status_code == 403


@pytest.mark.parametrize("page", [PAGE, SETUP])
def test_it_is_for_staff(owner: User, page: str) -> None:
    client = Client()
    assert goes_to(client.get(page)).startswith("/login?next=")
    client.force_login(owner)
    assert client.get(page).status_code == 403


@pytest.mark.parametrize("page", ["/login/second-step/codes", "/login/second-step/off"])
def test_a_change_is_a_post(staff: User, page: str) -> None:
    assert by_password(staff).get(page).status_code == 405


def test_the_admin_shows_nobody_s_key(staff: User, backup: list[str]) -> None:
    client = by_password(staff)
    enter(client, code_now(staff))
    app = TOTPDevice.objects.get()
    page = client.get(f"/admin/otp_totp/totpdevice/{app.pk}/change/")
    assert page.status_code == 200
    assert app.key not in page.content.decode()
