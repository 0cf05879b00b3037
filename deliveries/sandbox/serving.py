"""Running the sandbox provider as a process, until SIGTERM or SIGINT."""

import argparse
import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from deliveries.sandbox.provider import SandboxProvider
from deliveries.sandbox.shelves import StoreError
from deliveries.sandbox.webhooks import Webhooks

HELP = """\
Run an e-mail provider of our own: an HTTP server that accepts messages instead of sending them,
with an inbox page and switches for faults. For development, the demo and tests.

It accepts each Idempotency-Key once, as real providers do, and shows how often it was handed over.
"""

EXAMPLES = """\
Example:
  run_sandbox_provider --data var/sandbox          keep messages and keys across restarts
  then open http://127.0.0.1:8025/ for the inbox, and let the worker use it:
  EMAIL_PROVIDER=sandbox EMAIL_PROVIDER_URL=http://127.0.0.1:8025 manage.py run_delivery_worker

Hand over a message:
  curl http://127.0.0.1:8025/messages -H 'Idempotency-Key: try-1' -d '{"from": "us@example.com",
    "to": "ann@example.com", "subject": "Hello", "text": "Hello, Ann."}'

Make it fail, and work again:
  curl -X PUT http://127.0.0.1:8025/faults -d '{"fail_next": {"status": 503, "count": 2}}'
  curl -X DELETE http://127.0.0.1:8025/faults

Addresses at refused.example, and refused@ at any domain, are refused with 422.
With --webhook-url it tells afterwards what became of each message: delivered, unless the address
begins with bounce@, full@, suppressed@, failed@, complain@ or delayed@ (bounce+anything@ as well).
GET /stats tells how many messages were handled at once. SIGTERM and SIGINT stop it cleanly.
"""


class CannotServe(Exception):
    """The port or the data directory cannot be used; the message says why, for people."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = HELP
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--port",
        type=_port,
        default=8025,
        help="port to listen on; 0 takes a free one (%(default)s)",
    )
    parser.add_argument(
        "--data", metavar="DIR", help="directory that keeps messages and keys (default: in memory)"
    )
    parser.add_argument(
        "--api-key", metavar="KEY", help="refuse messages that come with another bearer token"
    )
    parser.add_argument(
        "--webhook-url",
        metavar="URL",
        help="post signed events there, such as http://127.0.0.1:8000/webhooks/email",
    )
    parser.add_argument(
        "--webhook-secret",
        metavar="whsec_…",
        help="what events are signed with (default: the variable EMAIL_PROVIDER_WEBHOOK_SECRET)",
    )
    parser.add_argument(
        "--webhook-repeats",
        type=int,
        default=1,
        metavar="N",
        help="post each event so often, as providers do now and then (%(default)s)",
    )


def from_options(options: Mapping[str, Any]) -> SandboxProvider:
    """Return the provider that the arguments ask for; raise CannotServe."""
    return SandboxProvider(
        options["data"],
        options["port"],
        host=options["host"],
        api_key=options["api_key"],
        webhooks=_webhooks(options),
    )


def _webhooks(options: Mapping[str, Any]) -> Webhooks | None:
    if not options["webhook_url"]:
        return None
    # The first of several: they are there so that one can be replaced.
    told = options["webhook_secret"] or os.environ.get("EMAIL_PROVIDER_WEBHOOK_SECRET", "")
    try:
        return Webhooks(
            options["webhook_url"],
            told.split(",")[0].strip(),
            repeats=options["webhook_repeats"],
        )
    except ValueError as error:
        raise CannotServe(f"Webhooks cannot be sent: {error}.") from None


def serve(provider: SandboxProvider, *, announce: Callable[[str], None]) -> None:
    """Run in the main thread until SIGTERM or SIGINT; raise CannotServe when it cannot start.

    `announce` is called once, with a line for people, when connections are taken.
    """
    told_to_stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: told_to_stop.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        _start(provider)
        announce(f"Sandbox e-mail provider: {provider.url}/ (inbox)")
        told_to_stop.wait()
    finally:
        provider.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(provider: SandboxProvider) -> None:
    try:
        provider.start()
    except StoreError as error:
        raise CannotServe(str(error)) from error
    except OSError as error:
        raise CannotServe(
            f"Cannot listen on {provider.url}: {error.strerror or error}. "
            "Choose another one with --host and --port (0 takes a free port)."
        ) from error


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 0 to 65535")
    return int(text)
