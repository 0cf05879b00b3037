"""manage.py migrate: Django's own, past a pooler in transaction mode where that is possible."""

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connection, connections, transaction
from django.db.utils import load_backend
from psycopg.errors import InsufficientPrivilege

# Longer than any of ours is idle between two statements, shorter than a lease.
IDLE_IN_TRANSACTION = "30s"


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if settings.DATABASE_POOLER == "transaction" and "direct" in settings.DATABASES:
            go_direct()
        super().handle(*args, **options)
        if not (options["plan"] or options["check_unapplied"]):
            self._bound_idle_transactions()

    def _bound_idle_transactions(self) -> None:
        try:
            bound_idle_transactions()
        except ProgrammingError as error:
            if not isinstance(error.__cause__, InsufficientPrivilege):
                raise
            self.stderr.write(
                "This login does not own the database. Let its owner run: ALTER DATABASE … SET "
                f"idle_in_transaction_session_timeout = '{IDLE_IN_TRANSACTION}'. Without it, one "
                "process that freezes in the middle of a transaction can hold up all others."
            )


def bound_idle_transactions() -> None:
    """Let PostgreSQL end a transaction whose process has frozen; one set otherwise stays so.

    A suspended worker may hold the lane's lock, and a host without power says no farewell. Set for
    the database and not for the session, so that it holds behind a pooler too.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT quote_ident(datname) FROM pg_database WHERE datname = current_database()
            AND NOT EXISTS (
                SELECT FROM pg_db_role_setting, unnest(setconfig) AS setting
                WHERE setdatabase = oid AND setrole = 0
                  AND setting LIKE 'idle_in_transaction_session_timeout=%%'
            )
            """
        )
        for (name,) in cursor.fetchall():
            cursor.execute(
                f"ALTER DATABASE {name} SET idle_in_transaction_session_timeout = "
                f"'{IDLE_IN_TRANSACTION}'"
            )


def go_direct() -> None:
    """Lead this thread's default connection past the pooler, to DATABASE_DIRECT_URL.

    Migrations lock for a session, and build indexes for longer than poolers wait. They name the
    default database, so another alias would lead only half of them there.
    """
    connections[DEFAULT_DB_ALIAS].close()
    direct = connections["direct"].settings_dict
    backend = load_backend(direct["ENGINE"])
    connections[DEFAULT_DB_ALIAS] = backend.DatabaseWrapper(direct, DEFAULT_DB_ALIAS)
