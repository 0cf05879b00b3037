"""Fires the weekday reminders where no cron and no systemd are: in a container of its own.

A run that fails is logged, and the next one catches nothing up by itself: see docs/reminders.md.
"""

import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, time, timedelta

AT = time(8, tzinfo=UTC)


def next_run(after: datetime) -> datetime:
    """Return the first weekday's 08:00 UTC that is later."""
    due = datetime.combine(after.astimezone(UTC).date(), AT)
    while due <= after or due.weekday() > 4:
        due += timedelta(days=1)
    return due


def main() -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    due = next_run(datetime.now(UTC))
    # By the minute, since a clock may be set and a machine suspended.
    while not stop.wait(min(60.0, max(0.0, (due - datetime.now(UTC)).total_seconds()))):
        if datetime.now(UTC) >= due:
            subprocess.run([sys.executable, "manage.py", "enqueue_reminders"], check=False)
            due = next_run(datetime.now(UTC))


if __name__ == "__main__":
    main()
