import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from invoicehub.embedded import server
from tests.setup.people import Guest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """A folder whose data is made and whose server is stopped, to be copied: initdb takes long."""
    with tempfile.TemporaryDirectory(prefix="invoicehub-") as name:
        server.start(Path(name, "template")).stop()
        yield Path(name, "template")


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder with a short path, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="invoicehub-") as name:
        yield Path(name)


@pytest.fixture
def folder(template: Path) -> Iterator[Path]:
    """A folder with the data of a server that is stopped, whatever the test before did to it."""
    path = template.with_name("postgres")
    if not path.exists():
        shutil.copytree(template, path)
    yield path
    if path.exists():
        server.start(path).stop()


@pytest.fixture
def guest() -> Iterator[Callable[[Path], Guest]]:
    """Start another process that uses the server in a folder."""
    guests: list[Guest] = []

    def come(folder: Path) -> Guest:
        command = [sys.executable, "-m", "tests.setup.guest", str(folder)]
        process = subprocess.Popen(
            command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        guests.append(process)
        return process

    yield come
    for process in guests:
        process.kill()
        process.communicate()
