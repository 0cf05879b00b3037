"""Numbers that do not fit each other are refused at start, with what to change."""

from typing import Any

import pytest
from django.core import checks
from pytest_django import Settings

from deliveries.checks import check_policy, check_provider
from deliveries.deploy_checks import check_deployment


def ids(found: list[checks.CheckMessage]) -> list[str | None]:
    return [message.id for message in found]


def test_the_defaults_fit_each_other() -> None:
    assert check_policy() == []


def test_the_check_runs_at_every_start() -> None:
    assert check_policy in checks.registry.registry.get_checks()


@pytest.mark.parametrize(
    ("lease", "timeout", "refused"),
    [(60, 53, False), (60, 54, True), (60, 60, True), (15, 15, True), (16.7, 15, False)],
)
def test_a_lease_outlasts_a_send(
    settings: Settings, lease: float, timeout: float, refused: bool
) -> None:
    settings.DELIVERY_LEASE_SECONDS, settings.DELIVERY_SEND_TIMEOUT_SECONDS = lease, timeout
    assert ids(check_policy()) == (["deliveries.E001"] if refused else [])


@pytest.mark.parametrize(
    ("attempts", "outage", "refused"),
    # The shortest waits are 2.5 s, 5 s, 10 s, …, 320 s, and then 450 s each.
    [(4, 17.5, False), (4, 17.6, True), (1, 1, True), (16, 3600, False), (13, 3600, True)],
)
def test_retries_outlast_an_outage(
    settings: Settings, attempts: int, outage: float, refused: bool
) -> None:
    settings.DELIVERY_MAX_ATTEMPTS, settings.DELIVERY_OUTAGE_SECONDS = attempts, outage
    assert ids(check_policy()) == (["deliveries.E002"] if refused else [])


@pytest.mark.parametrize(
    ("attempts", "lifetime", "refused"),
    # The longest waits of 16 attempts are 7,575 s in all; each may last 15 s itself.
    [(16, 7816, False), (16, 7815, True), (100, 86400, False), (120, 86400, True)],
)
def test_retries_end_before_the_key(
    settings: Settings, attempts: int, lifetime: float, refused: bool
) -> None:
    settings.DELIVERY_MAX_ATTEMPTS, settings.DELIVERY_KEY_LIFETIME_SECONDS = attempts, lifetime
    assert ids(check_policy()) == (["deliveries.E003"] if refused else [])


def test_a_cap_is_no_lower_than_the_base(settings: Settings) -> None:
    settings.DELIVERY_OUTAGE_SECONDS = 1
    settings.DELIVERY_BACKOFF_BASE_SECONDS = settings.DELIVERY_BACKOFF_CAP_SECONDS = 30
    assert check_policy() == []
    settings.DELIVERY_BACKOFF_BASE_SECONDS = 30.5
    assert ids(check_policy()) == ["deliveries.E004"]


@pytest.mark.parametrize(
    ("id_", "changes", "named"),
    [
        ("deliveries.E001", {"LEASE_SECONDS": 15}, "DELIVERY_LEASE_SECONDS"),
        ("deliveries.E002", {"MAX_ATTEMPTS": 3}, "DELIVERY_MAX_ATTEMPTS"),
        ("deliveries.E003", {"KEY_LIFETIME_SECONDS": 900}, "DELIVERY_KEY_LIFETIME_SECONDS"),
        ("deliveries.E004", {"BACKOFF_BASE_SECONDS": 901}, "The cap is the longest wait"),
    ],
)
def test_each_refusal_says_what_to_change(
    settings: Settings, id_: str, changes: dict[str, Any], named: str
) -> None:
    for name, value in changes.items():
        setattr(settings, f"DELIVERY_{name}", value)
    [refusal] = [message for message in check_policy() if message.id == id_]
    assert refusal.level == checks.ERROR
    assert refusal.hint
    assert named in refusal.hint


def test_settings_that_are_accepted_one_by_one_never_break_the_check(
    settings: Settings,
) -> None:
    settings.DELIVERY_MAX_ATTEMPTS = 50
    settings.DELIVERY_BACKOFF_BASE_SECONDS = settings.DELIVERY_BACKOFF_CAP_SECONDS = 3e8
    assert ids(check_policy()) == ["deliveries.E003"]


def test_an_unknown_provider_is_refused(settings: Settings) -> None:
    settings.EMAIL_PROVIDER = "carrier-pigeon"
    [refusal] = check_provider()
    assert refusal.id == "deliveries.E005"
    assert "sandbox" in (refusal.hint or "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no.such.Provider", "which cannot be imported: No module named 'no'"),
        ("deliveries.providers.resend.Missing", "which cannot be imported"),
        ("deliveries.models.Message", "which is no adapter: it has no from_settings, send, close."),
        ("deliveries.providers.base.Provider", "it has no from_settings."),
    ],
)
def test_a_dotted_path_to_what_is_no_adapter_is_refused(
    settings: Settings, name: str, said: str
) -> None:
    settings.EMAIL_PROVIDER = name
    [refusal] = check_provider()
    assert refusal.id == "deliveries.E005"
    assert said in refusal.msg


@pytest.mark.parametrize(
    ("provider", "lifetime", "refused"),
    [
        ("resend", 86400, False),
        ("resend", 86401, True),
        ("smtp", 0, False),
        ("smtp", 1, True),
        ("sandbox", 86400, False),
        ("sandbox", 86401, True),
    ],
)
def test_a_key_does_not_outlive_the_providers_memory(
    settings: Settings, provider: str, lifetime: float, refused: bool
) -> None:
    settings.EMAIL_PROVIDER, settings.DELIVERY_KEY_LIFETIME_SECONDS = provider, lifetime
    assert ids(check_provider()) == (["deliveries.E006"] if refused else [])


def test_without_keys_retries_may_last_as_long_as_they_like(settings: Settings) -> None:
    settings.DELIVERY_KEY_LIFETIME_SECONDS = 0
    assert check_policy() == []


READY = {
    "EMAIL_PROVIDER": "resend",
    "EMAIL_PROVIDER_URL": "https://api.resend.com",
    "EMAIL_PROVIDER_API_KEY": "re_123",
    "EMAIL_FROM": "invoices@company.com",
}
SMTP: dict[str, object] = {
    "EMAIL_PROVIDER": "smtp",
    "EMAIL_HOST": "mail.company.com",
    "EMAIL_PROVIDER_URL": "",
    "EMAIL_PORT": 587,
}


LOGIN = {"EMAIL_HOST_USER": "invoices", "EMAIL_HOST_PASSWORD": "a long password"}


def deploy(settings: Settings, **changes: object) -> list[checks.CheckMessage]:
    for name, value in (READY | changes).items():
        setattr(settings, name, value)
    return check_deployment()


@pytest.mark.parametrize(
    ("id_", "changes"),
    [
        ("", {}),
        ("", SMTP),
        ("", SMTP | {"EMAIL_SECURITY": "none", "EMAIL_HOST": "localhost"}),
        ("", SMTP | {"EMAIL_SECURITY": "none", "EMAIL_HOST": "::1"}),
        ("deliveries.E007", {"EMAIL_PROVIDER_API_KEY": ""}),
        ("deliveries.E008", {"EMAIL_PROVIDER_URL": "http://api.resend.com"}),
        ("", {"EMAIL_PROVIDER_URL": "http://127.0.0.1:9000"}),
        ("deliveries.E009", {"EMAIL_FROM": "invoices@invoicehub.example"}),
        ("deliveries.E009", {"EMAIL_FROM": "invoices@mail.Example.com"}),
        ("deliveries.E009", {"EMAIL_FROM": "invoices@localhost"}),
        ("", {"EMAIL_FROM": "invoices@myexample.com"}),
        (
            "deliveries.E010",
            SMTP | LOGIN | {"EMAIL_SECURITY": "none"},
        ),
        ("deliveries.E007", SMTP | {"EMAIL_HOST": ""}),
        ("deliveries.E007", SMTP | {"EMAIL_HOST": "mail.company.com:587"}),
        ("deliveries.E007", SMTP | {"EMAIL_HOST": "smtp://mail.company.com"}),
        ("deliveries.E007", SMTP | {"EMAIL_HOST": "invoices@mail.company.com"}),
        ("", SMTP | LOGIN),
        ("deliveries.E013", SMTP | {"EMAIL_HOST_USER": "invoices"}),
        ("deliveries.E013", SMTP | {"EMAIL_HOST_PASSWORD": "a long password"}),
        ("", {"EMAIL_HOST_USER": "invoices"}),
        ("deliveries.W003", SMTP | {"EMAIL_PORT": 465}),
        ("deliveries.W003", SMTP | {"EMAIL_SECURITY": "tls"}),
        ("", SMTP | {"EMAIL_PORT": 465, "EMAIL_SECURITY": "tls"}),
        ("", SMTP | {"EMAIL_PORT": 2525}),
        ("deliveries.E014", {"EMAIL_PROVIDER_URL": "https://api.resend.com/emails"}),
        ("deliveries.W001", SMTP | {"EMAIL_SECURITY": "none"}),
        ("deliveries.W002", {"EMAIL_PROVIDER": "sandbox"}),
    ],
)
def test_a_deployment_is_checked(settings: Settings, id_: str, changes: dict[str, object]) -> None:
    found = deploy(settings, **changes)
    assert ids(found) == ([id_] if id_ else [])
    assert all(message.hint for message in found)


def test_the_deployment_is_checked_by_check_deploy_only() -> None:
    assert check_deployment not in checks.registry.registry.get_checks()
    assert check_deployment in checks.registry.registry.get_checks(include_deployment_checks=True)


def test_an_unknown_provider_is_said_once(settings: Settings) -> None:
    assert deploy(settings, EMAIL_PROVIDER="carrier-pigeon") == []


def test_no_password_stands_in_what_is_told_of_the_providers_address(settings: Settings) -> None:
    settings.EMAIL_PROVIDER, settings.EMAIL_PROVIDER_API_KEY = "resend", "re_1"
    settings.EMAIL_PROVIDER_URL = "http://me:pa55word@api.resend.com"
    said = str([found for found in check_deployment() if found.id == "deliveries.E008"])
    assert "http://***@api.resend.com" in said
    assert "pa55word" not in said
