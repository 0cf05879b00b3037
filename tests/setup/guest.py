"""A process that uses the private PostgreSQL of a folder: says "in", leaves when its input ends."""

import sys
from pathlib import Path

import psycopg

from invoicehub.embedded.server import start

if __name__ == "__main__":
    server = start(Path(sys.argv[1]))
    psycopg.connect(server.url("postgres")).close()
    sys.stdout.write("in\n")
    sys.stdout.flush()
    sys.stdin.read()
