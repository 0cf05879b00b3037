"""Become another program that ends when this one's parent does, however the parent ends.

Run as a script, before anything of Django's is loaded: tether.py PARENT_PID PROGRAM ARGUMENT…
Only Linux can do that; elsewhere the program outlives a parent that is killed with SIGKILL.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    # The parent may have died before the line above; then no signal would ever come.
    if os.getppid() != int(parent):
        raise SystemExit(1)
    os.execv(command[0], command)  # noqa: S606  # no shell is wanted


if __name__ == "__main__":
    main()
