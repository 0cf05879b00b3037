"""The private PostgreSQL comes up after whatever was done to it, and goes when nobody is left."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured

from invoicehub.embedded import installation, processes
from invoicehub.embedded.errors import ServerFailed
from invoicehub.embedded.server import start
from tests.setup.conftest import PROJECT
from tests.setup.people import Guest, arrived, ask, leave, server_pid

pytestmark = [pytest.mark.process, pytest.mark.thorough]

Come = Callable[[Path], Guest]


def gone(pid: int, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while processes.lives(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not processes.lives(pid)


@pytest.mark.thorough
def test_a_new_folder_becomes_a_durable_server_for_200_connections(place: Path) -> None:
    server = start(place / "postgres")
    assert str(ask(server, "SHOW server_version")).startswith("18.")
    assert ask(server, "SHOW max_connections") == "200"
    assert ask(server, "SHOW fsync") == "on"
    assert ask(server, "SELECT upper('ünlü ọjà')") == "ÜNLÜ ỌJÀ"
    server.stop()


@pytest.mark.thorough
def test_data_survives_a_stop_and_the_socket_is_not_on_the_network(folder: Path) -> None:
    server = start(folder)
    server.create_database("shop")
    server.stop()
    assert server_pid(folder) is None

    server = start(folder)
    assert ask(server, "SELECT 1", database="shop") == 1
    assert ask(server, "SHOW listen_addresses") == ""


@pytest.mark.thorough
def test_creating_a_database_twice_creates_it_once(folder: Path) -> None:
    server = start(folder)
    server.create_database("Ünlü 'shop'")
    server.create_database("Ünlü 'shop'")
    assert ask(server, "SELECT current_database()", database="Ünlü 'shop'") == "Ünlü 'shop'"


def test_a_server_killed_with_sigkill_answers_again_with_its_data(folder: Path) -> None:
    server = start(folder)
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    for _ in range(3):
        pid = server_pid(folder)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        server.revive()
        assert ask(server, "SELECT number FROM kept") == 7


@pytest.mark.thorough
def test_a_connection_of_a_killed_server_does_not_keep_the_next_one_away(folder: Path) -> None:
    server = start(folder)
    open_connection = psycopg.connect(server.url("postgres"))
    pid = server_pid(folder)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    server.revive()
    assert ask(server, "SELECT 1") == 1
    open_connection.close()


@pytest.mark.thorough
def test_a_server_that_waits_for_its_clients_to_leave_is_not_waited_for(folder: Path) -> None:
    server = start(folder)
    staying = psycopg.connect(server.url("postgres"))
    pid = server_pid(folder)
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    server.revive()
    assert ask(server, "SELECT 1") == 1
    assert gone(pid)
    staying.close()


def test_a_stale_pid_file_that_names_somebody_elses_process(folder: Path) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        write_pid_file(folder, str(stranger.pid))
        assert ask(start(folder), "SELECT 1") == 1
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def write_pid_file(folder: Path, first_line: str) -> None:
    data = folder / "data"
    lines = [first_line, str(data), "1790000000", "5432", str(data), "", "  1  2", "ready", ""]
    (data / "postmaster.pid").write_text("\n".join(lines))


@pytest.mark.thorough
def test_a_stale_pid_file_that_names_another_folders_server(folder: Path, template: Path) -> None:
    other = folder.with_name("other")
    shutil.copytree(template, other)
    neighbour = start(other)
    write_pid_file(folder, str(server_pid(other)))

    assert ask(start(folder), "SHOW data_directory") == str(folder / "data")
    assert ask(neighbour, "SHOW data_directory") == str(other / "data")
    neighbour.stop()


@pytest.mark.parametrize(
    "text", ["", "\n", "12", "nonsense", "-1\n", "99999999999999999999\n", "\x00\xff\n\n", "1\n/\n"]
)
def test_a_pid_file_cut_short_or_odd(folder: Path, text: str) -> None:
    (folder / "data" / "postmaster.pid").write_text(text)
    assert ask(start(folder), "SELECT 1") == 1


@pytest.mark.thorough
@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_text("")])
def test_a_running_server_whose_pid_file_is_spoilt_is_replaced(
    folder: Path, harm: Callable[[Path], object]
) -> None:
    server = start(folder)
    first = server_pid(folder)
    assert first is not None
    harm(folder / "data" / "postmaster.pid")
    server.revive()
    assert ask(server, "SELECT 1") == 1
    assert gone(first)


def test_the_last_process_to_leave_stops_the_server(folder: Path, guest: Come) -> None:
    one, two = guest(folder), guest(folder)
    assert arrived(one)
    assert arrived(two)
    leave(one)
    assert server_pid(folder)
    leave(two)
    assert server_pid(folder) is None


@pytest.mark.thorough
def test_a_killed_process_no_longer_counts(folder: Path, guest: Come) -> None:
    killed, last = guest(folder), guest(folder)
    assert arrived(killed)
    assert arrived(last)
    killed.kill()
    killed.wait()
    leave(last)
    assert server_pid(folder) is None


@pytest.mark.thorough
def test_a_server_left_behind_by_killed_processes_is_taken_over(folder: Path, guest: Come) -> None:
    killed = guest(folder)
    assert arrived(killed)
    killed.kill()
    killed.wait()
    left_behind = server_pid(folder)
    assert left_behind

    leave(guest(folder))
    assert gone(left_behind)


@pytest.mark.thorough
def test_three_processes_at_once_make_one_server(place: Path, guest: Come) -> None:
    guests = [guest(place / "postgres") for _ in range(3)]
    assert all(arrived(each) for each in guests)
    mains = [
        pid for pid in processes.postgres_pids() if processes.serves(pid, place / "postgres/data")
    ]
    assert len(mains) == 1
    for each in guests:
        leave(each)
    assert gone(mains[0])


@pytest.mark.thorough
def test_coming_while_the_last_one_leaves(folder: Path, guest: Come) -> None:
    for _ in range(2):
        leaving = guest(folder)
        assert arrived(leaving)
        coming = guest(folder)
        leave(leaving)
        assert arrived(coming)
        assert server_pid(folder)
        leave(coming)


@pytest.mark.thorough
def test_a_folder_deleted_under_a_running_server(folder: Path) -> None:
    server = start(folder)
    orphan = server_pid(folder)
    assert orphan is not None
    shutil.rmtree(folder, ignore_errors=True)
    server.revive()
    assert ask(server, "SELECT 1") == 1
    assert gone(orphan)


@pytest.mark.thorough
def test_whoever_used_a_deleted_folder_leaves_its_successor_alone(
    folder: Path, guest: Come
) -> None:
    before = guest(folder)
    assert arrived(before)
    shutil.rmtree(folder, ignore_errors=True)
    after = start(folder)
    leave(before)
    assert ask(after, "SELECT 1") == 1


@pytest.mark.thorough
def test_a_first_start_that_was_killed_halfway_is_begun_anew(place: Path) -> None:
    unfinished = place / "postgres" / "data.unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18")
    server = start(place / "postgres")
    assert ask(server, "SELECT 1") == 1
    server.stop()


def test_data_of_another_major_version_is_refused_with_advice(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "PG_VERSION").write_text("16\n")
    with pytest.raises(ImproperlyConfigured, match="PostgreSQL 16, and this project now runs"):
        start(place)


@pytest.mark.thorough
def test_a_folder_that_is_itself_a_cluster_is_refused(place: Path) -> None:
    (place / "PG_VERSION").write_text("18\n")
    with pytest.raises(ImproperlyConfigured, match="is itself a PostgreSQL data folder"):
        start(place)


def test_somebody_elses_files_are_never_deleted(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "thesis.txt").write_text("all of it")
    with pytest.raises(ImproperlyConfigured, match="holds something else"):
        start(place)
    assert (place / "data" / "thesis.txt").read_text() == "all of it"


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["a b, 'c' \"d\" $e", "x" * 120, "Łódź"])
def test_folders_with_odd_and_with_long_names(place: Path, template: Path, name: str) -> None:
    shutil.copytree(template, place / name)
    server = start(place / name)
    assert ask(server, "SHOW data_directory") == str(place / name / "data")
    server.stop()
    assert server.sockets == place / name / "data" or not server.sockets.exists()


@pytest.mark.thorough
def test_a_server_that_cannot_start_says_what_its_log_says(folder: Path) -> None:
    with (folder / "data" / "postgresql.conf").open("a") as settings:
        settings.write("work_mem = 'a lot'\n")
    with pytest.raises(ServerFailed, match='invalid value for parameter "work_mem"'):
        start(folder)
    shutil.rmtree(folder)


@pytest.mark.thorough
def test_a_suspended_server_is_reported_with_its_number(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("invoicehub.embedded.cluster.START_DEADLINE_SECONDS", 0.5)
    monkeypatch.setattr("invoicehub.embedded.cluster.PING_DEADLINE_SECONDS", 2)
    server = start(folder)
    pid = server_pid(folder)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(ServerFailed, match=f"process {pid} does not answer"):
            server.revive()
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.thorough
def test_a_forked_child_does_not_stop_its_parents_server(folder: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from invoicehub.embedded.server import start
server = start(Path(sys.argv[1]))
child = os.fork()
if not child:
    sys.exit()
os.waitpid(child, 0)
print(server._cluster.postmaster() is not None)
"""
    assert run(program, folder).stdout == "True\n"
    assert server_pid(folder) is None


@pytest.mark.thorough
def test_a_forked_child_that_connects_keeps_the_server_when_its_parent_leaves(
    folder: Path,
) -> None:
    program = """
import os, sys
from pathlib import Path
from invoicehub.embedded.server import start
server = start(Path(sys.argv[1]))
ready, tell = os.pipe()
if not os.fork():
    mine = start(Path(sys.argv[1]))
    parent = os.getppid()
    os.write(tell, b"x")
    while os.getppid() == parent:
        pass
    print(mine._cluster.postmaster() is not None)
    sys.exit()
os.read(ready, 1)
"""
    assert run(program, folder).stdout == "True\n"
    assert server_pid(folder) is None


def run(program: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(folder)],
        cwd=PROJECT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


START = """
import sys
from pathlib import Path
from invoicehub.embedded.server import start
start(Path(sys.argv[1]))
"""


@pytest.mark.thorough
def test_an_odd_environment_neither_bends_it_nor_shows(folder: Path) -> None:
    odd = {
        "XDG_RUNTIME_DIR": "/nowhere",
        "TZ": "Mars/Olympus",
        "LANG": "xx_XX.UTF-8",
        "LC_ALL": "xx_XX.UTF-8",
        "PGPORT": "1",
        "PGDATA": "/nowhere",
        "PGHOST": "db.example",
        "PGUSER": "me",
    }
    quiet = run(START, folder, **odd)
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert server_pid(folder) is None


@pytest.mark.thorough
def test_without_the_package_a_sentence_says_what_to_do(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ImproperlyConfigured, match=r"set DATABASE_URL .* run `make setup`"):
        start(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else")
class TestAsRoot:
    def test_the_server_runs_as_nobody(self, folder: Path) -> None:
        start(folder)
        pid = server_pid(folder)
        assert psutil.Process(pid).username() == "nobody"

    def test_the_owner_of_the_folder_runs_it_where_there_is_one(self, place: Path) -> None:
        os.chown(place, 2, 2)
        assert installation.account_for(place / "postgres") == installation.Account("bin", 2, 2)

    def test_parents_become_passable_and_not_readable(self, place: Path) -> None:
        (place / "home").mkdir(mode=0o700)
        nobody = installation.account_for(place)
        installation.open_the_way(nobody, place / "home" / "postgres")
        assert (place / "home").stat().st_mode & 0o777 == 0o701
