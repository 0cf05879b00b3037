"""Fixtures for every test: the people, an organization, an invoice, the sandbox provider."""

import fcntl
import gc
import os
from collections import defaultdict
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings
from pytest_django.plugin import DjangoDbBlocker

from deliveries.models import Delivery
from deliveries.sandbox import SandboxProvider
from invoices.models import Invoice, Organization
from tests import factories

_SERVERS = frozenset({"db", "transactional_db", "provider", "sandbox"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try two cases of each table every day, and keep the cores busy from beginning to end.

    The other cases are `thorough`: where they ask a server they were a third of the work. Of the
    ledger, of real processes, and of what costs next to nothing, every case is tried.
    """
    for item in items:
        if _is_a_further_case(item):
            item.add_marker(pytest.mark.thorough)
    items[:] = _mixed(items)


def _is_a_further_case(item: pytest.Item) -> bool:
    cases = getattr(item, "callspec", None)
    tried_in_full = item.path.parent.name in {"ledger", "process"}
    return bool(
        cases
        and _servers(item)
        and not (tried_in_full or item.get_closest_marker("slow"))
        and max(cases.indices.values()) > 1
    )


def _servers(item: pytest.Item) -> frozenset[str]:
    """Return what it needs of PostgreSQL and the sandbox provider."""
    return _SERVERS.intersection(getattr(item, "fixturenames", ()))


def _mixed(items: list[pytest.Item]) -> list[pytest.Item]:
    """Begin with what takes long, and spread what waits more than it works over the rest."""
    long: list[pytest.Item] = []
    kinds: defaultdict[frozenset[str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if any(map(item.get_closest_marker, ("browser", "process"))):
            long.append(item)
        else:
            kinds[_servers(item)].append(item)
    places = [
        (place / len(kind), item) for kind in kinds.values() for place, item in enumerate(kind)
    ]
    return long + [item for _, item in sorted(places, key=itemgetter(0))]


def pytest_collection() -> None:
    """Look for no garbage among what is being imported, all of which stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look less often for garbage, and not among what was imported: a sixth of the suite's work."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


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


class QuickClient(Client):
    """A browser whose `force_login` is one row, not seventeen statements as in a real login."""

    def force_login(self, user: AbstractBaseUser, backend: str | None = None) -> None:
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = backend or settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        self.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)


@pytest.fixture
def client() -> Client:
    return QuickClient()


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


@pytest.fixture
def as_owner(client: Client, owner: User) -> Client:
    client.force_login(owner)
    return client
