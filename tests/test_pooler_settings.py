"""Settings of a database behind a pooler: how they are read, and which do not fit each other."""

from pathlib import Path
from typing import Any

import pytest
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from invoicehub import environment as read
from invoicehub.checks import check_pooler
from tests.test_settings import PRODUCTION, check, manage

POOLED = {"DATABASE_POOLER": "transaction", "DATABASE_URL": "postgres://invoicehub@pooler:6432/db"}


def database(**changes: Any) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "pooler.example",
        "PORT": 6432,
        "OPTIONS": {},
    } | changes


def refusals(settings: Settings, pooler: str, **databases: dict[str, Any]) -> list[str | None]:
    settings.DATABASE_POOLER = pooler
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(settings.DATABASES, "direct", raising=False)
        for alias, entry in databases.items():
            patch.setitem(settings.DATABASES, alias, entry)
        found = check_pooler()
    assert all(message.level == checks.ERROR and message.hint for message in found)
    return [message.id for message in found]


def test_without_a_pooler_there_is_nothing_to_refuse(settings: Settings) -> None:
    assert refusals(settings, "none") == []


def test_a_pooler_before_the_private_postgresql_is_refused(settings: Settings) -> None:
    assert refusals(settings, "transaction") == ["invoicehub.E001"]


def test_a_way_past_a_pooler_that_is_not_there_is_refused(settings: Settings) -> None:
    assert refusals(settings, "none", direct=database()) == ["invoicehub.E002"]


@pytest.mark.parametrize(
    ("direct", "refused"),
    [
        ({}, True),
        ({"HOST": "Pooler.Example"}, True),
        ({"PORT": "6432"}, True),
        ({"PORT": 5432}, False),
        ({"HOST": "postgres.example"}, False),
        ({"HOST": "", "OPTIONS": {"host": "/run/postgresql"}}, False),
        ({"HOST": "", "OPTIONS": {"host": "pooler.example"}}, True),
    ],
)
def test_the_direct_way_does_not_lead_to_the_pooler(
    settings: Settings, direct: dict[str, Any], refused: bool
) -> None:
    found = refusals(settings, "transaction", default=database(), direct=database(**direct))
    assert found == (["invoicehub.E003"] if refused else [])


def test_no_port_is_postgresqls_own(settings: Settings) -> None:
    pooled, direct = database(PORT=""), database(PORT=5432)
    found = refusals(settings, "transaction", default=pooled, direct=direct)
    assert found == ["invoicehub.E003"]


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"options": "-c statement_timeout=5s"}, True),
        ({"assume_role": "invoicehub"}, True),
        ({"prepare_threshold": 5}, True),
        ({"sslmode": "require", "connect_timeout": 5, "application_name": "web"}, False),
    ],
)
def test_what_a_session_would_have_to_keep_is_refused(
    settings: Settings, options: dict[str, Any], refused: bool
) -> None:
    found = refusals(settings, "transaction", default=database(OPTIONS=options))
    assert found == (["invoicehub.E004"] if refused else [])
    assert refusals(settings, "none", default=database(OPTIONS=options)) == []


def test_the_check_runs_at_every_start() -> None:
    assert check_pooler in checks.registry.registry.get_checks()


@pytest.mark.thorough
def test_a_pooled_production_starts_with_a_direct_way_and_without_one() -> None:
    direct = "postgres://invoicehub@postgres/db"
    ended = check(**PRODUCTION | POOLED, DATABASE_DIRECT_URL=direct)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert check(**PRODUCTION | POOLED).returncode == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"DATABASE_POOLER": "session"}, "DATABASE_POOLER must be"),
        ({"DATABASE_URL": f"{POOLED['DATABASE_URL']}?options=-cjit%3Doff"}, "invoicehub.E004"),
    ],
)
def test_a_pooler_that_cannot_work_is_refused_with_a_sentence(
    changes: dict[str, str], said: str
) -> None:
    ended = check(**PRODUCTION | POOLED | changes)
    assert ended.returncode == 1
    assert said in ended.stderr


def test_cursors_that_outlive_a_statement_are_off_behind_a_pooler_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from invoicehub import settings as module

    monkeypatch.setenv("DATABASE_URL", POOLED["DATABASE_URL"])
    for pooler, off in (("transaction", True), ("none", False)):
        monkeypatch.setattr(module, "DATABASE_POOLER", pooler)
        assert module._databases()["default"]["DISABLE_SERVER_SIDE_CURSORS"] is off


def test_a_database_is_read_from_its_url(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert read.postgres("UNSET_DATABASE") == {}
    (tmp_path / "url").write_text("postgres://someone:a%20secret@db.example:5433/invoices\n")
    monkeypatch.setenv("FILED_DATABASE_FILE", str(tmp_path / "url"))
    found = read.postgres("FILED_DATABASE")
    expected = ("db.example", 5433, "invoices", "someone", "a secret")
    assert tuple(found[key] for key in ("HOST", "PORT", "NAME", "USER", "PASSWORD")) == expected


@pytest.mark.filterwarnings("ignore:Engine not recognized")
@pytest.mark.parametrize(
    "url", ["sqlite:///x.db", "mysql://db/x", "postgres://db:port/x", "nonsense", "://"]
)
@pytest.mark.thorough
def test_a_database_that_is_none_of_ours_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("DB", url)
    with pytest.raises(ImproperlyConfigured, match=r"^DB (must point at|cannot be read)"):
        read.postgres("DB")


@pytest.mark.thorough
def test_migrate_goes_past_the_pooler_by_itself() -> None:
    """The pooled address leads nowhere; the default alias is what migrations name."""
    url = "postgres://someone@127.0.0.1:{port}/none?connect_timeout=2"
    environment = PRODUCTION | {
        "DATABASE_URL": url.format(port=1),
        "DATABASE_POOLER": "transaction",
        "DATABASE_DIRECT_URL": url.format(port=2),
    }
    ended = manage("migrate", "--plan", **environment)
    assert ended.returncode == 3
    assert "port 2 failed" in ended.stderr
    del environment["DATABASE_DIRECT_URL"]
    assert "port 1 failed" in manage("migrate", "--plan", **environment).stderr
