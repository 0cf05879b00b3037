"""The release before, from this repository's own history."""

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import settings

from tests.migrations.rules import BASELINE


def lay_out_the_release_before(folder: Path) -> str:
    """Write the newest code whose migrations are those of BASELINE there; return its commit.

    Skips the test where history is not there: a shallow clone, or no clone at all.
    """
    for commit in _git("rev-list", "HEAD").decode().split():
        if _newest_migrations(commit) == BASELINE:
            with tarfile.open(fileobj=BytesIO(_git("archive", commit))) as release:
                release.extractall(folder, filter="data")
            return commit
    return pytest.skip("No commit of this clone has the migrations of BASELINE.")


def _newest_migrations(commit: str) -> dict[str, str]:
    folders = [f"{label}/migrations/" for label in BASELINE]
    listed = _git("ls-tree", "--name-only", commit, *folders).decode().split()
    files = sorted(path for path in listed if Path(path).name[0].isdigit())
    return {path.split("/")[0]: Path(path).stem for path in files}


def _git(*arguments: str) -> bytes:
    try:
        ran = subprocess.run(
            ["git", *arguments], cwd=settings.BASE_DIR, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        return pytest.skip(f"git does not tell of history: {error}")
    return ran.stdout
