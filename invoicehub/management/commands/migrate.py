"""manage.py migrate: Django's own, past a pooler in transaction mode where that is possible."""

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.utils import load_backend


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if settings.DATABASE_POOLER == "transaction" and "direct" in settings.DATABASES:
            go_direct()
        super().handle(*args, **options)


def go_direct() -> None:
    """Lead this thread's default connection past the pooler, to DATABASE_DIRECT_URL.

    Migrations lock for a session, and build indexes for longer than poolers wait. They name the
    default database, so another alias would lead only half of them there.
    """
    connections[DEFAULT_DB_ALIAS].close()
    direct = connections["direct"].settings_dict
    backend = load_backend(direct["ENGINE"])
    connections[DEFAULT_DB_ALIAS] = backend.DatabaseWrapper(direct, DEFAULT_DB_ALIAS)
