"""Fixtures for every test: the people, an organization, an invoice, the sandbox provider."""

import fcntl
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from pytest_django.fixtures import Settings
from pytest_django.plugin import DjangoDbBlocker

from deliveries.models import Delivery
from deliveries.sandbox import SandboxProvider
from invoices.models import Invoice, Organization
from tests import factories


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no core waits for a browser in the end."""
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("browser", "process"))))


def pytest_collection_finish() -> None:
    """Look less often for garbage, and not among what was imported: a sixth of the suite's work."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: DjangoDbBlocker,
) -> None:
    """Let one of several processes migrate a database that each of them gets a copy of."""
    if hasattr(request.config, "workerinput"):
        with django_db_blocker.unblock():
            _migrate_once(tmp_path_factory.getbasetemp().parent / "template")


def _migrate_once(done: Path) -> None:
    test, name = connection.settings_dict["TEST"], connection.settings_dict["NAME"]
    own, template = test["NAME"], f"test_{name}_template"
    with done.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.fstat(lock.fileno()).st_size:
            test["NAME"] = template
            connection.creation.create_test_db(verbosity=0, autoclobber=True)
            connection.close()
            lock.write("done")
    connection.settings_dict["NAME"] = name
    test |= {"NAME": own, "TEMPLATE": template, "MIGRATE": False}


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Let commits of the test database return before they are on disk: no test pulls the plug."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        name = connection.settings_dict["NAME"]
        cursor.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
        connection.close()


@pytest.fixture(autouse=True)
def quick_passwords(request: pytest.FixtureRequest, settings: Settings) -> None:
    """Hash passwords cheaply, but not where a real process must be able to check them."""
    if "fleet" not in request.fixturenames:
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def transactional_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Stand in for pytest-django's fixture of this name: the tables are emptied by DELETE.

    Its TRUNCATE of all tables, and what Django does after that, take 0.2 s: longer than most of
    these tests.
    """
    with django_db_blocker.unblock():
        yield
        connection.close()
        _empty_the_tables()
        connection.close()


@pytest.fixture
def db(request: pytest.FixtureRequest) -> None:
    """Stand in for pytest-django's fixture of this name, which would TRUNCATE all tables."""
    own = "transactional_db" if "transactional_db" in request.fixturenames else "_django_db_helper"
    request.getfixturevalue(own)


def _empty_the_tables() -> None:
    made_by_migrations = {
        *("django_migrations", "django_content_type"),
        *("auth_permission", "auth_group", "auth_group_permissions"),
    }
    tables = set(connection.introspection.django_table_names(only_existing=True))
    with connection.cursor() as cursor:
        # Without foreign keys; and rather an error than a wait for what a test left open.
        cursor.execute("SET session_replication_role = replica; SET lock_timeout = '10s'")
        for table in sorted(tables - made_by_migrations):
            cursor.execute(f'DELETE FROM "{table}"')


@pytest.fixture
def organization(db: None) -> Organization:
    return factories.make_organization()


@pytest.fixture
def owner(organization: Organization) -> User:
    return factories.make_member(organization, "owner", "owner")


@pytest.fixture
def viewer(organization: Organization) -> User:
    return factories.make_member(organization, "viewer", "viewer")


@pytest.fixture
def outsider(db: None) -> User:
    elsewhere = factories.make_organization("nordlicht", name="Nordlicht Kaffee GmbH")
    return factories.make_member(elsewhere, "outsider", "owner")


@pytest.fixture
def invoice(organization: Organization) -> Invoice:
    return factories.make_invoice(organization, number="INV-0001")


@pytest.fixture
def delivery(invoice: Invoice) -> Delivery:
    return factories.make_delivery(invoice)


@pytest.fixture
def sandbox() -> Iterator[SandboxProvider]:
    with SandboxProvider() as provider:
        yield provider
