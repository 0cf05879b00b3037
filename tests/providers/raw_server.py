"""A server that does to us, byte by byte, whatever a test's script says."""

import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PATIENCE_SECONDS = 20
SELF_SIGNED = Path(__file__).with_name("self_signed.pem")


@dataclass(frozen=True)
class Request:
    line: str
    headers: dict[str, str]  # names in lower case
    body: bytes


class Left(Exception):
    """The other side has closed the connection, or the test is over."""


class Peer:
    """One connection, as the server's script sees it."""

    def __init__(self, server: "RawServer", connection: socket.socket) -> None:
        self._server = server
        self._connection = connection
        self._received = b""

    def request(self) -> Request:
        """Read a whole request; raise `Left` if none comes any more."""
        head = self._read_until(b"\r\n\r\n").decode("latin-1")
        line, *rest = head.split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rest)
        }
        body = self._read(int(headers.get("content-length", "0")))
        request = Request(line, headers, body)
        self._server.requests.append(request)
        return request

    def line(self) -> bytes:
        """Read a line, without its end; raise `Left` if none comes any more."""
        return self._read_until(b"\r\n")

    def send(self, *pieces: bytes) -> None:
        try:
            for piece in pieces:
                self._connection.sendall(piece)
        except OSError:
            raise Left from None

    def drip(self, pieces: Iterable[bytes], *, every: float = 0.01) -> None:
        """Send the pieces one at a time, until the other side has left."""
        for piece in pieces:
            self.send(piece)
            if self._server.over.wait(every) or self.has_left():
                raise Left

    def wait_until_it_leaves(self) -> None:
        while not self._server.over.wait(0.01):
            if self.has_left():
                return

    def has_left(self) -> bool:
        try:
            # The plain method: TLS has no peeking, and whether anything comes is enough.
            peek = socket.MSG_PEEK | socket.MSG_DONTWAIT
            return socket.socket.recv(self._connection, 1, peek) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def reset(self) -> None:
        """Close with a reset instead of an orderly end."""
        linger = struct.pack("ii", 1, 0)
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close()

    def close(self) -> None:
        self._connection.close()

    def start_tls(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(SELF_SIGNED)
        try:
            self._connection = context.wrap_socket(self._connection, server_side=True)
        except OSError:
            raise Left from None

    def _read_until(self, end: bytes) -> bytes:
        while end not in self._received:
            self._receive()
        found, _, self._received = self._received.partition(end)
        return found

    def _read(self, length: int) -> bytes:
        while len(self._received) < length:
            self._receive()
        found, self._received = self._received[:length], self._received[length:]
        return found

    def _receive(self) -> None:
        try:
            data = self._connection.recv(65536)
        except OSError:
            raise Left from None
        if not data:
            raise Left
        self._received += data


Script = Callable[[Peer], None]


class RawServer:
    """Runs the script for each connection, in a thread of its own."""

    def __init__(self, script: Script) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.over = threading.Event()
        self._script = script
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._start(self._accept)

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.over.set()
        # Not close(): that would leave the thread in accept().
        self._listener.shutdown(socket.SHUT_RDWR)
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        self._listener.close()

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="raw-server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            self._start(lambda connection=connection: self._serve(connection))  # type: ignore[misc]

    def _serve(self, connection: socket.socket) -> None:
        peer = Peer(self, connection)
        try:
            self._script(peer)
        except Left:
            pass
        finally:
            peer.close()
            connection.close()


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    """Return an answer as it goes over the wire; underscores in header names become dashes."""
    lines = [f"HTTP/1.1 {status} Some Reason", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def accepted(id_: object = "msg_1") -> bytes:
    return answer(200, json.dumps({"id": id_, "replayed": False}).encode())


def refused(status: int, name: str, message: str = "Because.", **headers: str) -> bytes:
    body = json.dumps({"error": {"name": name, "message": message}}).encode()
    return answer(status, body, **headers)


def answering(*answers: bytes) -> Script:
    """Answer the requests of each connection in turn, the last answer for ever."""

    def script(peer: Peer) -> None:
        for number in range(1_000_000):
            peer.request()
            peer.send(answers[min(number, len(answers) - 1)])

    return script


def for_ever(piece: bytes) -> Iterator[bytes]:
    while True:
        yield piece


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        pause.wait(0.005)
