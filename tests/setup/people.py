"""Words for the tests of the private PostgreSQL."""

import subprocess
from pathlib import Path

import psycopg

from invoicehub.embedded.cluster import Cluster
from invoicehub.embedded.server import Server

Guest = subprocess.Popen[str]


def arrived(guest: Guest) -> bool:
    assert guest.stdout is not None
    return guest.stdout.readline() == "in\n"


def leave(guest: Guest) -> None:
    guest.communicate(timeout=60)
    assert guest.returncode == 0


def server_pid(folder: Path) -> int | None:
    found = Cluster(folder.resolve()).postmaster()
    return found.pid if found else None


def ask(server: Server, query: str, database: str = "postgres") -> object:
    """Return the one value that the query gives over a new connection."""
    with psycopg.connect(server.url(database), autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        return row and row[0]
