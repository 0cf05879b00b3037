"""Serves the metrics of a worker's own process to Prometheus, and to nobody else."""

import hmac
import socket
import threading
from collections.abc import Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import make_wsgi_app


def start(address: str, port: int, *, token: str) -> WSGIServer:
    """Serve in a thread that ends with the process. With a token, ask everybody for it.

    Raise `OSError` where that port cannot be had.
    """
    server = make_server(
        address,
        port,
        _asking_for(token, make_wsgi_app()),
        _ServerV6 if ":" in address else _Server,
        _Silent,
    )
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def _asking_for(token: str, application: WSGIApplication) -> WSGIApplication:
    """Let those in who send the token as a bearer token; without one, whoever reaches the port."""

    def guarded(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        scheme, _, given = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        is_right = hmac.compare_digest(given.strip().encode(), token.encode())
        if not token or (scheme.lower() == "bearer" and is_right):
            return application(environ, start_response)
        start_response(
            "401 Unauthorized",
            [("Content-Type", "text/plain"), ("WWW-Authenticate", 'Bearer realm="metrics"')],
        )
        return [b"Send the METRICS_TOKEN as a bearer token.\n"]

    return guarded


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Bind without asking for our own name, which may take a resolver's time-out."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()


class _ServerV6(_Server):
    address_family = socket.AF_INET6


class _Silent(WSGIRequestHandler):
    # Whoever connects and says nothing keeps a thread no longer than this.
    timeout = 10

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
        pass
