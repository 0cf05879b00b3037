"""The HTTP server: connections, reading requests, writing answers, and breaking them on purpose."""

import hmac
import logging
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

from deliveries.sandbox.answers import Answer, Refusal
from deliveries.sandbox.faults import Act, Fault
from deliveries.sandbox.handing_over import Sandbox, Stopping
from deliveries.sandbox.messages import read_key
from deliveries.sandbox.routes import Request, answer_to
from deliveries.sandbox.traffic import Flight, client_has_left

logger = logging.getLogger(__name__)

LARGEST_BODY = 40 * 1024 * 1024
# Beyond this much of a body that is too large we no longer read it to the end, but cut.
LARGEST_DISCARDED = 4 * LARGEST_BODY
_CHUNK = 1024 * 1024
_NOTICE_A_CLIENT_LEFT_SECONDS = 0.02


class ClientLeft(ConnectionError):
    """The connection ended before the whole request had come."""


class SandboxServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, address: tuple[str, int], sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._connections: set[Any] = set()
        self._changed = threading.Condition()
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        # HTTPServer's own looks its host name up in the DNS, which can take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._changed:
            self._connections.discard(request)
            self._changed.notify_all()
        super().shutdown_request(request)

    def cut_connections(self, *, wait_seconds: float) -> None:
        """Cut every connection, kept-alive ones too, and wait until their threads have ended."""
        with self._changed:
            for connection in self._connections:
                _cut(connection)
            self._changed.wait_for(lambda: not self._connections, timeout=wait_seconds)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()  # socketserver calls this while it handles the exception
        if not isinstance(error, ConnectionError):
            logger.error("The sandbox failed to handle a request", exc_info=error)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: SandboxServer

    def do_GET(self) -> None:
        self._handle()

    do_HEAD = do_PUT = do_DELETE = do_GET  # noqa: N815 - http.server calls them so

    def do_POST(self) -> None:
        if urlsplit(self.path).path == "/messages":
            self._fly()
        else:
            self._handle()

    def _fly(self) -> None:
        flight = self._sandbox.traffic.begin(self.connection)
        try:
            self._handle_hand_over(flight)
        except (ConnectionError, Stopping):
            self._drop()
        finally:
            flight.land()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        logger.debug("HTTP request", extra={"request": format % args})

    @property
    def _sandbox(self) -> Sandbox:
        return self.server.sandbox

    def _handle(self) -> None:
        try:
            self._send(self._answer())
        except ConnectionError:
            self._drop()

    def _answer(self) -> Answer:
        try:
            body = self._read_body()
            url = urlsplit(self.path)
            request = Request(self.command, url.path, url.query, body)
            return answer_to(request, sandbox=self._sandbox)
        except Refusal as refusal:
            return refusal.answer()

    def _handle_hand_over(self, flight: Flight) -> None:
        fault = self._sandbox.faults.before_handling()
        if fault is not None:
            self._note_faulted_key()
            self._break(fault, flight)
            return
        try:
            answer = self._accept()
        except Refusal as refusal:
            self._sandbox.traffic.count("refused")
            self._send_in_flight(refusal.answer(), flight)
            return
        fault = self._sandbox.faults.after_acceptance()
        if fault is None:
            self._send_in_flight(answer, flight)
        else:
            self._break(replace(fault, answer=answer), flight)

    def _accept(self) -> Answer:
        body = self._read_body()
        self._check_api_key()
        key = read_key(self.headers.get("Idempotency-Key"))
        self._sandbox.store.note_hand_over(key)
        return self._sandbox.hand_over(key, body)

    def _note_faulted_key(self) -> None:
        try:
            self._sandbox.store.note_hand_over(read_key(self.headers.get("Idempotency-Key")))
        except Refusal:
            logger.debug("A faulted hand-over without a key")

    def _check_api_key(self) -> None:
        expected = self._sandbox.api_key
        given = self.headers.get("Authorization", "")
        if expected is not None and not hmac.compare_digest(
            given.encode(), f"Bearer {expected}".encode()
        ):
            raise Refusal(401, "invalid_api_key", "Send Authorization: Bearer <the API key>.")

    def _break(self, fault: Fault, flight: Flight) -> None:
        flight.hangs = fault.act is Act.HANG
        self._sandbox.traffic.count("faulted")
        answer = fault.answer
        if fault.act is Act.HANG:
            self._hang()
        elif fault.act is Act.DROP or answer is None:
            flight.land()
            self._drop()
        elif fault.act is Act.CUT_MID_ANSWER:
            flight.land()
            self._send_half(answer)
        else:
            self._discard_body_of_an_answered_request()
            self._send_in_flight(answer, flight)

    def _read_body(self) -> bytes:
        """Read the whole body, even one that will be refused: the next request comes after it."""
        length = self._content_length()
        if length > LARGEST_BODY:
            self._discard(length)
            raise Refusal(413, "payload_too_large", f"At most {LARGEST_BODY} bytes are accepted.")
        body = self.rfile.read(length)
        if len(body) < length:
            raise ClientLeft
        return body

    def _discard_body_of_an_answered_request(self) -> None:
        try:
            self._read_body()
        except Refusal:
            self.close_connection = True

    def _content_length(self) -> int:
        if "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise Refusal(411, "missing_field", "Send a Content-Length; chunks are not read.")
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdecimal()):
            self.close_connection = True
            raise Refusal(400, "missing_field", "The Content-Length is not a number.")
        return int(length)

    def _discard(self, length: int) -> None:
        # A client that is cut while it sends does not read the answer that says why.
        self.close_connection = True
        left = min(length, LARGEST_DISCARDED)
        while left > 0:
            chunk = self.rfile.read(min(left, _CHUNK))
            if not chunk:
                raise ClientLeft
            left -= len(chunk)

    def _send_in_flight(self, answer: Answer, flight: Flight) -> None:
        interval = self._sandbox.faults.drip_seconds
        if interval is None:
            flight.land()
            self._send(answer)
        else:
            self._drip(self._head(answer) + answer.body, interval, before_the_last=flight.land)

    def _send(self, answer: Answer) -> None:
        body = b"" if self.command == "HEAD" else answer.body
        self.connection.sendall(self._head(answer) + body)

    def _send_half(self, answer: Answer) -> None:
        self.connection.sendall(self._head(answer) + answer.body[: len(answer.body) // 2])
        self._drop()

    def _drip(self, answer: bytes, interval: float, *, before_the_last: Callable[[], None]) -> None:
        for position in range(len(answer)):
            if self._sandbox.stopping.wait(interval):
                raise Stopping
            if position == len(answer) - 1:
                before_the_last()
            self.connection.sendall(answer[position : position + 1])

    def _hang(self) -> None:
        self._discard_body_of_an_answered_request()
        while not client_has_left(self.connection):
            if self._sandbox.stopping.wait(_NOTICE_A_CLIENT_LEFT_SECONDS):
                break
        self._drop()

    def _drop(self) -> None:
        self.close_connection = True
        _cut(self.connection)

    def _head(self, answer: Answer) -> bytes:
        return answer.head(date=self.date_time_string(), closes=self.close_connection)


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        logger.debug("The connection was gone already")
