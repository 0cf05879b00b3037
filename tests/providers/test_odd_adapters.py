"""Adapters that somebody else has written: what is wrong with them is said in a sentence."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from deliveries import events, providers
from deliveries.checks import check_policy, check_provider, check_webhook_secret
from deliveries.deploy_checks import check_deployment
from deliveries.models import Message
from deliveries.policy import Policy
from deliveries.providers import Receipt
from deliveries.reports import Dialect


class Plain:
    """Knows no keys, and says nothing of that."""

    @classmethod
    def from_settings(cls) -> Any:
        return cls()

    def send(self, message: Message, *, idempotency_key: str) -> Receipt:
        return Receipt(id="1")

    def close(self) -> None:
        raise RuntimeError("nothing to close")


class WithoutKeys(Plain):
    key_lifetime = timedelta(0)


class Hour(Plain):
    key_lifetime = timedelta(hours=1)


class Seconds(Plain):
    key_lifetime = 3600


class Negative(Plain):
    key_lifetime = timedelta(-1)


class Telling(Plain):
    key_lifetime = timedelta(days=1)
    events = Dialect(types={"gone": "bounced"})


class Expecting(Plain):
    events = Dialect(types={"gone": "bounced"}, message_id=lambda data: data["letter"]["id"])


class Mumbling(Plain):
    events = {"gone": "bounced"}


class Stumbling(Plain):
    @classmethod
    def from_settings(cls) -> Any:
        return int("hunter2")


class Nothing(Plain):
    @classmethod
    def from_settings(cls) -> Any:
        return None


def choose(settings: Settings, adapter: type, **changes: object) -> None:
    settings.EMAIL_PROVIDER = f"{__name__}.{adapter.__name__}"
    settings.EMAIL_FROM = "invoices@company.com"
    for name, value in changes.items():
        setattr(settings, name, value)


@pytest.mark.parametrize(
    ("adapter", "lifetime"),
    [(WithoutKeys, timedelta(0)), (Plain, timedelta(0)), (Hour, timedelta(hours=1))],
)
def test_the_adapter_says_how_long_a_key_is_good_where_no_setting_does(
    settings: Settings, adapter: type, lifetime: timedelta
) -> None:
    choose(settings, adapter)
    assert check_provider() == []
    assert Policy.from_settings().key_lifetime == lifetime


@pytest.mark.parametrize(
    ("adapter", "seconds", "id_"),
    [
        (Hour, 3600.0, ""),
        (Hour, 600.0, ""),
        (Hour, 3601.0, "deliveries.E006"),
        (WithoutKeys, 0.0, ""),
        (WithoutKeys, 1.0, "deliveries.E006"),
        (Plain, 0.0, ""),
        (Plain, 1.0, "deliveries.E006"),
    ],
)
def test_a_setting_may_only_shorten_it(
    settings: Settings, adapter: type, seconds: float, id_: str
) -> None:
    choose(settings, adapter, DELIVERY_KEY_LIFETIME_SECONDS=seconds)
    assert [found.id for found in check_provider()] == ([id_] if id_ else [])
    assert all("key_lifetime" in (found.hint or "") for found in check_provider()) or (
        adapter is not Plain
    )


def test_an_adapter_whose_key_is_short_lived_is_told_what_can_be_done(settings: Settings) -> None:
    choose(settings, Hour)
    [refusal] = check_policy()
    assert refusal.id == "deliveries.E003"
    assert "key_lifetime of EMAIL_PROVIDER=" in refusal.msg
    assert "to 0" in (refusal.hint or "")


def test_what_is_set_too_long_is_said_once_and_one_way(settings: Settings) -> None:
    choose(settings, Hour, DELIVERY_KEY_LIFETIME_SECONDS=4000.0)
    assert [found.id for found in check_provider()] == ["deliveries.E006"]
    assert check_policy() == []


@pytest.mark.parametrize(
    ("adapter", "said"),
    [(Seconds, "timedelta"), (Negative, "timedelta"), (Mumbling, "Dialect")],
)
def test_an_attribute_of_another_type_is_refused(
    settings: Settings, adapter: type, said: str
) -> None:
    choose(settings, adapter)
    [refusal] = check_provider()
    assert refusal.id == "deliveries.E005"
    assert said in refusal.msg
    assert check_policy() == []
    assert check_webhook_secret() == []


def test_an_outcome_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="lost"):
        Dialect(types={"gone": "lost"})


def test_an_event_without_what_an_adapter_expects_is_kept(settings: Settings) -> None:
    choose(settings, Expecting)
    report = events.read(b'{"type": "gone", "data": {}}', event_id="evt_1")
    assert (report.provider_message_id, report.shelf) == ("", "no_effect")
    counted = events.read(b'{"type": "gone", "data": {"letter": {"id": 41}}}', event_id="evt_2")
    assert (counted.provider_message_id, counted.shelf) == ("41", "waiting")
    other = events.read(b'{"type": "email.bounced", "data": {"email_id": "x"}}', event_id="evt_3")
    assert other.provider_message_id == "x"


@pytest.mark.parametrize(("adapter", "asks"), [(Telling, True), (Plain, False)])
def test_a_secret_is_asked_for_where_there_are_events(
    settings: Settings, adapter: type, asks: bool
) -> None:
    choose(settings, adapter, EMAIL_PROVIDER_WEBHOOK_KEYS=[])
    assert [found.id for found in check_webhook_secret()] == (["deliveries.E011"] if asks else [])


@pytest.mark.parametrize(
    ("adapter", "said"),
    [(Stumbling, "ended with ValueError (test_odd_adapters.py, line"), (Nothing, "NoneType")],
)
def test_whatever_from_settings_does_ends_in_a_sentence(
    settings: Settings, adapter: type, said: str
) -> None:
    choose(settings, adapter)
    [refusal] = check_deployment()
    assert refusal.id == "deliveries.E007"
    assert said in refusal.msg
    assert "hunter2" not in refusal.msg
    with pytest.raises(ImproperlyConfigured):
        providers.from_settings(settings.EMAIL_PROVIDER)


def test_an_adapter_that_cannot_close_is_still_one(settings: Settings) -> None:
    choose(settings, Plain)
    assert check_deployment() == []
    assert providers.key_lifetime(SimpleNamespace(key_lifetime=3)) is None
