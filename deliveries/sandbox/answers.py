"""What the sandbox answers: a status, headers and bytes, and the one shape all errors have."""

import json
from dataclasses import dataclass
from http import HTTPStatus

JSON_TYPE = "application/json"
HTML_TYPE = "text/html; charset=utf-8"

ERROR_NAMES = frozenset(
    {
        "missing_idempotency_key",
        "invalid_idempotency_key",
        "invalid_json",
        "invalid_address",
        "missing_field",
        "invalid_attachment",
        "idempotency_key_reused",
        "in_progress",
        "unavailable",
        "rate_limited",
        "quota_exceeded",
        "invalid_api_key",
        "payload_too_large",
        "not_found",
        "invalid_fault",
    }
)


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()

    def head(self, *, date: str, closes: bool) -> bytes:
        """Return the status line and headers, with the empty line that ends them."""
        lines = [
            f"HTTP/1.1 {self.status} {_phrase(self.status)}",
            "Server: InvoiceHub-sandbox",
            f"Date: {date}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
            f"Connection: {'close' if closes else 'keep-alive'}",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Refusal(Exception):
    """The sandbox does not do what was asked: raised anywhere, answered in one place."""

    def __init__(self, status: int, name: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.name = name
        self.message = message

    def answer(self) -> Answer:
        return error_answer(self.status, self.name, self.message)


def json_answer(value: object, *, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode() + b"\n")


def error_answer(
    status: int, name: str, message: str, *, headers: tuple[tuple[str, str], ...] = ()
) -> Answer:
    body = json.dumps({"error": {"name": name, "message": message}}).encode() + b"\n"
    return Answer(status, body, headers=headers)


def redirect(location: str, *, status: int = 303) -> Answer:
    return Answer(status, headers=(("Location", location),))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
