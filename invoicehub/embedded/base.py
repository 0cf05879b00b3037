"""The database backend: Django's PostgreSQL backend on a server that the project starts itself.

In `DATABASES` it takes NAME, which is created when it is missing, and DATA_DIRECTORY.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.creation import TEST_DATABASE_PREFIX
from django.db.backends.postgresql import base, client

from invoicehub.embedded import cluster, installation
from invoicehub.embedded.server import Server, start


class DatabaseClient(client.DatabaseClient):
    """`manage.py dbshell`, with the psql that came along."""

    @classmethod
    def settings_to_cmd_args_env(
        cls, settings_dict: dict[str, Any], parameters: Iterable[str]
    ) -> tuple[list[str], dict[str, str] | None]:
        reach = {"HOST": str(_server(settings_dict).sockets), "USER": cluster.USER}
        _, *arguments = super().settings_to_cmd_args_env(settings_dict | reach, parameters)[0]
        return [str(installation.programs() / "psql"), *arguments], None


class DatabaseWrapper(base.DatabaseWrapper):
    """Connections to the private server; the first one starts it."""

    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        server = _server(self.settings_dict)
        return super().get_connection_params() | _reach(server)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        try:
            return super().get_new_connection(conn_params)
        except psycopg.OperationalError:
            # The server was killed, its folder deleted, or the database is not there yet: put
            # that right and try once more. What else it may be fails again, with the same words.
            server = _server(self.settings_dict)
            server.revive()
            # A missing test database is for the test runner to make, under its own rules.
            if not conn_params["dbname"].startswith(TEST_DATABASE_PREFIX):
                server.create_database(conn_params["dbname"])
            return super().get_new_connection(conn_params | _reach(server))


def _server(settings_dict: dict[str, Any]) -> Server:
    folder = settings_dict.get("DATA_DIRECTORY")
    if not folder:
        raise ImproperlyConfigured("The embedded database needs DATA_DIRECTORY beside its ENGINE.")
    return start(Path(folder))


def _reach(server: Server) -> dict[str, Any]:
    return {"host": str(server.sockets), "port": cluster.PORT, "user": cluster.USER}
