"""A server that speaks Resend's protocol as https://resend.com/docs/api-reference documents it."""

import base64
import binascii
import hashlib
import json
import re
import socket
import struct
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

API_KEY = "re_123456789"
VERIFIED = "invoicehub.example"
_TAG = re.compile(r"[A-Za-z0-9_-]{1,256}")


@dataclass(frozen=True)
class Refusal:
    status: int
    name: str
    message: str = "Because."
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class _Known:
    digest: str
    id: str = ""


class Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class ResendServer:
    """Keeps what it accepted in `emails`, by id. Its switches are plain attributes."""

    def __init__(self) -> None:
        self.emails: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.per_second = 0  # No limit.
        self.refusals: deque[Refusal] = deque()
        self.drop_answers = 0
        self.working = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self._keys: dict[str, _Known] = {}
        self._taken: deque[float] = deque()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("H", (_Handler,), {"api": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def limit_headers(self) -> dict[str, str]:
        """Count a request; raise `Refused` past the limit of this second."""
        if not self.per_second:
            return {}
        now = time.monotonic()
        with self._lock:
            while self._taken and self._taken[0] <= now - 1:
                self._taken.popleft()
            left = self.per_second - len(self._taken)
            headers = {
                "ratelimit-limit": str(self.per_second),
                "ratelimit-policy": f"{self.per_second};w=1",
                "ratelimit-remaining": str(max(0, left - 1)),
                "ratelimit-reset": "1",
            }
            if left <= 0:
                headers["retry-after"] = "1"
                raise Refused(Refusal(429, "rate_limit_exceeded", "Too many requests.", headers))
            self._taken.append(now)
        return headers

    def authenticate(self, headers: dict[str, str]) -> None:
        if "user-agent" not in headers:
            raise Refused(Refusal(403, "", "error code: 1010"))
        if "authorization" not in headers:
            raise Refused(Refusal(401, "missing_api_key", "Missing API Key"))
        if headers["authorization"] != f"Bearer {API_KEY}":
            raise Refused(Refusal(401, "validation_error", "API key is invalid"))

    def let_pass(self, path: str) -> None:
        if path != "/emails":
            raise Refused(Refusal(404, "not_found", "The requested endpoint does not exist."))
        if self.refusals:
            raise Refused(self.refusals.popleft())

    def accept(self, key: str | None, raw: bytes) -> str:
        """Return the id under which the e-mail is sent: the same for a key that came before."""
        if key is None:
            return self._send(raw)
        if not 1 <= len(key) <= 256:
            raise Refused(Refusal(400, "invalid_idempotency_key", "1 to 256 characters."))
        digest = hashlib.sha256(raw).hexdigest()
        with self._lock:
            known = self._keys.get(key)
            if known is None:
                known = self._keys[key] = _Known(digest)
            elif known.digest != digest:
                raise Refused(Refusal(409, "invalid_idempotent_request", "Other payload."))
            elif not known.id:
                raise Refused(Refusal(409, "concurrent_idempotent_requests", "In progress."))
            else:
                return known.id
        try:
            known.id = self._send(raw)
        except Refused:
            del self._keys[key]
            raise
        return known.id

    def _send(self, raw: bytes) -> str:
        email = json.loads(raw)
        validate(email)
        self.working.set()
        self.go_on.wait(20)
        id_ = str(uuid.uuid4())
        self.emails[id_] = email
        return id_


def validate(email: dict[str, Any]) -> None:
    missing = [name for name in ("from", "to", "subject") if not email.get(name)]
    if missing:
        raise Refused(Refusal(422, "missing_required_field", f"Missing `{missing[0]}` field."))
    if not re.search(rf"@{re.escape(VERIFIED)}>?$", email["from"]):
        raise Refused(Refusal(403, "validation_error", "The domain is not verified."))
    if len(email["to"]) > 50 or not all(to.isascii() and "@" in to for to in email["to"]):
        raise Refused(Refusal(422, "validation_error", "Invalid `to` field."))
    for tag in email.get("tags", []):
        if not (_TAG.fullmatch(tag["name"]) and _TAG.fullmatch(tag["value"])):
            raise Refused(Refusal(422, "validation_error", "Tags should only contain ASCII …"))
    for attachment in email.get("attachments", []):
        try:
            base64.b64decode(attachment["content"], validate=True)
        except (KeyError, binascii.Error):
            raise Refused(Refusal(422, "invalid_attachment", "No `content`.")) from None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Two small packets, headers and body, would wait for each other.
    wbufsize = -1
    api: ResendServer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.api.requests.append((self.path, headers))
        try:
            answer = self.api.limit_headers()
            self.api.authenticate(headers)
            self.api.let_pass(self.path)
            id_ = self.api.accept(headers.get("idempotency-key"), raw)
        except Refused as refused:
            refusal = refused.refusal
            body = {
                "statusCode": refusal.status,
                "name": refusal.name,
                "message": refusal.message,
            }
            self._answer(refusal.status, body, refusal.headers)
            return
        if self.api.drop_answers:
            self.api.drop_answers -= 1
            self._reset()
            return
        self._answer(200, {"id": id_}, answer)

    def _answer(self, status: int, body: dict[str, Any], headers: dict[str, str]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass
