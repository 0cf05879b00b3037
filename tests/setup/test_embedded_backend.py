"""Django on the private PostgreSQL: it starts at the first query, and heals under way."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from pytest_django.plugin import DjangoDbBlocker

from invoicehub.embedded.base import DatabaseWrapper
from tests.setup.conftest import PROJECT
from tests.setup.people import server_pid

pytestmark = [pytest.mark.process, pytest.mark.thorough]


def wrapper(folder: Path, name: str) -> DatabaseWrapper:
    from django.db import connection

    return DatabaseWrapper({**connection.settings_dict, "NAME": name, "DATA_DIRECTORY": folder})


@pytest.fixture
def shop(folder: Path) -> Iterator[DatabaseWrapper]:
    database = wrapper(folder, "shop")
    yield database
    database.close()


@pytest.fixture(autouse=True)
def own_database(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """These tests bring a database of their own, beside the one that pytest-django guards."""
    with django_db_blocker.unblock():
        yield


def name_of(database: DatabaseWrapper) -> str:
    with database.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        return str(cursor.fetchone()[0])


def test_the_database_is_created_at_the_first_query(shop: DatabaseWrapper, folder: Path) -> None:
    assert server_pid(folder) is None
    assert name_of(shop) == "shop"


@pytest.mark.thorough
def test_a_database_dropped_meanwhile_is_created_again(shop: DatabaseWrapper) -> None:
    assert name_of(shop) == "shop"
    shop.close()
    with shop._nodb_cursor() as cursor:
        cursor.execute("DROP DATABASE shop")
    assert name_of(shop) == "shop"


def test_a_missing_test_database_is_left_to_the_test_runner(folder: Path) -> None:
    with pytest.raises(OperationalError, match='database "test_shop" does not exist'):
        wrapper(folder, "test_shop").ensure_connection()


@pytest.mark.parametrize("harm", ["kill", "delete"])
def test_a_new_connection_brings_back_a_server_that_went_away(
    shop: DatabaseWrapper, folder: Path, harm: str
) -> None:
    assert name_of(shop) == "shop"
    pid = server_pid(folder)
    assert pid is not None
    if harm == "kill":
        os.kill(pid, signal.SIGKILL)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    shop.close()
    assert name_of(shop) == "shop"


@pytest.mark.thorough
def test_dbshell_uses_the_psql_that_came_along(shop: DatabaseWrapper) -> None:
    assert name_of(shop) == "shop"
    command, _ = shop.client.settings_to_cmd_args_env(shop.settings_dict, ["-Atc", "\\conninfo"])
    assert "shop" in subprocess.check_output(command, text=True)


def test_without_a_folder_the_settings_are_at_fault() -> None:
    with pytest.raises(ImproperlyConfigured, match="needs DATA_DIRECTORY"):
        wrapper(Path(), "shop").__class__({"NAME": "shop"}).get_connection_params()


def test_importing_the_settings_starts_nothing(place: Path) -> None:
    environment = os.environ | {"EMBEDDED_POSTGRES_DIR": str(place), "DATABASE_URL": ""}
    subprocess.run(
        [sys.executable, "-W", "error", "manage.py", "check"],
        cwd=PROJECT,
        env=environment,
        check=True,
        capture_output=True,
    )
    assert list(place.iterdir()) == []
