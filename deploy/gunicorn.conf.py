"""Settings of the web server: `gunicorn --config deploy/gunicorn.conf.py invoicehub.wsgi`.

Each can be changed by GUNICORN_CMD_ARGS, such as "--workers 8"; see docs/deployment.md.
"""

import contextlib
import gc
import os
import re
import socket
import struct
import time
from typing import Any


def positive(name: str, raw: str, default: int) -> int:
    """Read a number that must be one; else end with a sentence instead of a traceback."""
    if not raw.strip():
        return default
    if not re.fullmatch(r"[1-9][0-9]{0,3}", raw.strip()):
        raise SystemExit(f"{name} must be a whole number from 1 to 9999, not {raw[:40]!r}.")
    return int(raw)


bind = os.environ.get("WEB_BIND", "127.0.0.1:8000")

# Pages wait for PostgreSQL more than for a core; each thread has a connection of its own.
by_cores = max(2, min(8, 2 * (os.cpu_count() or 1)))
workers = positive("WEB_WORKERS", os.environ.get("WEB_WORKERS", ""), by_cores)
threads = positive("WEB_THREADS", os.environ.get("WEB_THREADS", ""), 4)
worker_class = "gthread"
# Import once, and share the memory. Nothing connects to the database before the fork.
preload_app = True

# The longest request is an import; a proxy in front keeps slow browsers away from the threads.
timeout = 60
graceful_timeout = 30
keepalive = 75


def when_ready(server: Any) -> None:
    """Leave what was imported out of every search for garbage, and shared by all processes."""
    gc.collect()
    gc.freeze()


def pre_request(worker: Any, req: Any) -> None:
    """Wait for no more than 10 s of silence in mid body: gunicorn itself waits for ever.

    What drips is still waited for, so the proxy must pass requests on whole (docs/deployment.md).
    """
    if (sock := _socket(req)) is not None:
        # Not `settimeout`: that would limit what is sent as well, a large export say.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 10, 0))


def post_request(worker: Any, req: Any, environ: dict[str, Any], resp: Any) -> None:
    """Hardly wait for the rest of a stranger's body: gunicorn would for 5 s, and 2 s more."""
    if getattr(resp, "status_code", None) != 401 or (sock := _socket(req)) is None:
        return
    ends_at = time.monotonic() + 1
    sock.settimeout(0.1)
    try:
        while time.monotonic() < ends_at:
            if not req.body.read(1024):
                sock.settimeout(None)
                return
    except Exception:  # noqa: BLE001, S110 - no body, or half of one: the connection ends
        pass
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _socket(req: Any) -> Any:
    return getattr(getattr(req, "unreader", None), "sock", None)


# A process that has served so many gives its memory back; not all of them at once.
max_requests = 10_000
max_requests_jitter = 1_000

# Headers of ours are far smaller. Bodies are capped by MAX_REQUEST_BYTES.
limit_request_line = 4094
limit_request_fields = 60
limit_request_field_size = 8190

# A heartbeat on a disk that stalls would look like a worker that hangs.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: PTH112, S108

# Django believes X-Forwarded-Proto by TRUSTED_PROXIES; gunicorn itself need believe nobody.
forwarded_allow_ips = ""
# An access log would hold addresses and invitations' tokens; the proxy has one, where wanted.
accesslog = None
errorlog = "-"
loglevel = "warning"
