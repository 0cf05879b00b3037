"""How the demo treats its processes, with programs of a line each in their place."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from invoicehub.demo import show as show_module
from invoicehub.demo import tether
from invoicehub.demo.children import Child
from invoicehub.demo.screen import Screen
from invoicehub.demo.show import ChildFailed, Show
from invoicehub.embedded.processes import lives

pytestmark = [pytest.mark.process, pytest.mark.thorough]

STAY = "echo up; exec sleep 600"
STUBBORN = "trap '' TERM; echo up; sleep 600 & wait; wait"


@pytest.fixture
def screen() -> Screen:
    return Screen(io.StringIO())


def text(screen: Screen) -> str:
    assert isinstance(screen.stream, io.StringIO)
    return screen.stream.getvalue()


def child(screen: Screen, name: str, program: str, *, comes_back: bool = False) -> Child:
    return Child(
        name=name,
        command=["/bin/sh", "-c", program],
        environment=dict(os.environ),
        folder=Path("/"),
        screen=screen,
        answers=lambda one: "up" in one.tail,
        stop_seconds=0.5,
        comes_back=comes_back,
    )


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def stop(show: Show) -> None:
    show.heed(signal.SIGTERM, None)


def test_it_is_ready_once_all_answer_and_stops_them_in_reverse(screen: Screen) -> None:
    children = [child(screen, name, STAY) for name in ("inbox", "worker", "web")]
    show = Show(children, screen)
    show.run(ready=lambda: stop(show))
    assert text(screen).count("│ up") == 3
    assert "Stopping: web, worker, inbox" in text(screen)
    assert not any(one.lives for one in children)


def test_each_line_stands_behind_its_process_name(screen: Screen) -> None:
    show = Show([child(screen, "worker", f"echo '[bold] é'; {STAY}")], screen)
    show.run(ready=lambda: stop(show))
    assert "worker │ [bold] é\nworker │ up\n" in text(screen)


def test_a_process_that_fails_at_start_ends_the_show_with_its_last_lines(screen: Screen) -> None:
    good = child(screen, "inbox", STAY)
    bad = child(screen, "web", "echo no such table >&2; exit 3")
    with pytest.raises(ChildFailed, match=r"web ended with status 3.*\n.*no such table"):
        Show([good, bad], screen).run(ready=lambda: None)
    assert not good.lives


def test_a_process_that_never_answers_ends_the_show(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show_module, "READY_DEADLINE_SECONDS", 0.2)
    silent = child(screen, "web", "exec sleep 600")
    with pytest.raises(ChildFailed, match="web does not answer"):
        Show([silent], screen).run(ready=lambda: None)
    assert not silent.lives


def test_a_killed_worker_is_started_again_and_that_is_said(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show_module, "PAUSES_SECONDS", (0.05, 0.1))
    worker = child(screen, "worker", STAY, comes_back=True)
    show = Show([worker], screen)

    def kill_it_three_times() -> None:
        for time_around in (1, 2, 3):
            until(lambda: text(screen).count("│ up") == time_around)  # noqa: B023
            os.kill(worker.pid or 0, signal.SIGKILL)
        until(lambda: text(screen).count("│ up") == 4)
        stop(show)

    show.run(ready=lambda: threading.Thread(target=kill_it_three_times, daemon=True).start())
    assert text(screen).count("was ended by SIGKILL. Starting another one in 0.1 s.") == 2


def test_a_process_that_will_not_stop_is_ended_with_all_of_its_own(screen: Screen) -> None:
    stubborn = child(screen, "web", f"echo $$; {STUBBORN}")
    show = Show([stubborn], screen)
    show.run(ready=lambda: stop(show))
    session = int(stubborn.tail[0])
    assert "did not stop by itself" in text(screen)
    until(lambda: not alive_in(session))


def alive_in(session: int) -> list[str]:
    found = subprocess.run(
        ["ps", "-o", "stat=", "-s", str(session)], capture_output=True, text=True, check=False
    )
    return [state for state in found.stdout.split() if not state.startswith("Z")]


def test_a_start_that_was_called_off_starts_nothing(screen: Screen) -> None:
    one = child(screen, "web", STAY)
    show = Show([one], screen)
    stop(show)
    show.run(ready=lambda: pytest.fail("nothing was ready"))
    assert one.pid is None


def test_the_echo_of_a_signal_is_not_a_second_one(screen: Screen) -> None:
    show = Show([], screen)
    stop(show)
    stop(show)
    assert show.signals == 1


def test_a_second_signal_does_not_wait(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show_module, "ECHO_SECONDS", 0)
    stubborn = child(screen, "web", STUBBORN)
    stubborn.stop_seconds = 600.0
    show = Show([stubborn], screen)

    def insist() -> None:
        stop(show)
        stop(show)

    show.run(ready=insist)
    assert not stubborn.lives


def test_it_stops_when_nobody_can_read_it_any_more(screen: Screen) -> None:
    one = child(screen, "web", "echo up; while sleep 0.02; do echo still; done")
    Show([one], screen).run(ready=screen.stream.close)
    assert not one.lives


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child")
def test_a_tethered_process_ends_with_a_parent_that_is_killed() -> None:
    program = f"""
import os, subprocess, sys
command = [sys.executable, {tether.__file__!r}, str(os.getpid()), "/bin/sleep", "600"]
print(subprocess.Popen(command).pid, flush=True)
sys.stdin.read()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    until(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n")
    parent.kill()
    parent.communicate()
    until(lambda: not lives(pid))
