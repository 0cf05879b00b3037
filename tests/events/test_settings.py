"""Secrets of webhooks: several, from a file too, and none missing in production."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from deliveries import signatures
from deliveries.checks import check_webhook_secret
from invoicehub import environment as read
from tests.events.provider import KEY, OTHER_KEY, SECRET
from tests.test_settings import PRODUCTION, check


def test_several_secrets_come_with_commas_between(monkeypatch: pytest.MonkeyPatch) -> None:
    other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
    monkeypatch.setenv("X", f" {SECRET} , {other},")
    assert read.webhook_keys("X") == [KEY, OTHER_KEY]


@pytest.mark.parametrize("between", ["\n", "\r\n", " ", ", ", ",\n\n", "\t"])
def test_several_secrets_come_with_blanks_or_lines_between(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, between: str
) -> None:
    other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
    (tmp_path / "secrets").write_text(f"{SECRET}{between}{other}\n")
    monkeypatch.setenv("MANY_KEYS_FILE", str(tmp_path / "secrets"))
    assert read.webhook_keys("MANY_KEYS") == [KEY, OTHER_KEY]


def test_secrets_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    monkeypatch.setenv("HOOK_KEYS_FILE", str(tmp_path / "secret"))
    assert read.webhook_keys("HOOK_KEYS") == [KEY]


def test_without_any_there_are_none() -> None:
    assert read.webhook_keys("UNSET_X") == []


@pytest.mark.parametrize("nonsense", ["hunter2", "whsec_", f"{SECRET},whsec_?"])
def test_a_secret_that_is_none_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, nonsense: str
) -> None:
    monkeypatch.setenv("X", nonsense)
    with pytest.raises(ImproperlyConfigured, match="X must be a secret") as refused:
        read.webhook_keys("X")
    assert "hunter2" not in str(refused.value)
    assert signatures.EXAMPLE not in str(refused.value)


def test_a_deployment_whose_provider_tells_of_bounces_must_listen(settings: Settings) -> None:
    settings.EMAIL_PROVIDER_WEBHOOK_KEYS = [OTHER_KEY]
    assert check_webhook_secret() == []
    settings.EMAIL_PROVIDER_WEBHOOK_KEYS = []
    [refusal] = check_webhook_secret()
    assert refusal.id == "deliveries.E011"
    assert "/webhooks/email" in (refusal.hint or "")
    settings.EMAIL_PROVIDER = "smtp"
    assert check_webhook_secret() == []


def test_the_example_of_the_documentation_is_no_secret(settings: Settings) -> None:
    settings.EMAIL_PROVIDER_WEBHOOK_KEYS = [OTHER_KEY, signatures.Key.of(signatures.EXAMPLE)]
    [refusal] = check_webhook_secret()
    assert refusal.id == "deliveries.E012"


def test_it_does_not_start_in_production_without_a_secret() -> None:
    ended = check(**PRODUCTION, EMAIL_PROVIDER="resend")
    assert ended.returncode == 1
    assert "EMAIL_PROVIDER_WEBHOOK_SECRET must be set" in ended.stderr
