"""PostgreSQL ends a transaction whose process has frozen, so that it holds up nobody for long."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import ProgrammingError, connection
from psycopg.errors import InsufficientPrivilege

from invoicehub.management.commands import migrate


def bounds() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setting FROM pg_db_role_setting, unnest(setconfig) AS setting, pg_database d "
            "WHERE setdatabase = d.oid AND setrole = 0 AND datname = current_database() "
            "AND setting LIKE 'idle_in_transaction_session_timeout=%%'"
        )
        return [row[0].partition("=")[2] for row in cursor.fetchall()]


@pytest.fixture
def unbound(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{connection.settings_dict["NAME"]}" RESET ALL')


def test_migrate_bounds_them_for_every_session(unbound: None) -> None:
    assert bounds() == []
    for _ in range(2):
        call_command("migrate", verbosity=0)
        assert bounds() == ["30s"]


def test_what_somebody_set_otherwise_stays(unbound: None) -> None:
    name = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE \"{name}\" SET idle_in_transaction_session_timeout = '5s'")
    migrate.bound_idle_transactions()
    assert bounds() == ["5s"]


def test_who_may_not_is_told_what_the_owner_has_to_run(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise ProgrammingError("must be owner of database") from InsufficientPrivilege()

    monkeypatch.setattr(migrate, "bound_idle_transactions", refuse)
    said = StringIO()
    call_command("migrate", verbosity=0, stderr=said)
    assert "Let its owner run: ALTER DATABASE" in said.getvalue()
