"""Signatures of webhooks, as Standard Webhooks and Svix write them; pure functions.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md:
HMAC-SHA256 over "id.timestamp.body", in base64, with the bytes behind `whsec_` as the key.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

SECRET_PREFIX = "whsec_"  # noqa: S105 - what every secret begins with is none
TOLERANCE = timedelta(minutes=5)

# The example of Svix's documentation, which everybody knows.
EXAMPLE = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

# One name per header in each of the two spellings.
_SPELLINGS = ("svix", "webhook")
_VERSION = "v1"
# A sender that rotates its secrets signs with a few; more is an attempt to make us work.
_MOST_SIGNATURES = 10
_ID = re.compile(r"[!-~]{1,255}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_SHORTEST_KEY_BYTES = 16


class InvalidSecret(ValueError):
    """The text is no secret of a webhook; the message does not repeat it."""


class NotAuthentic(Exception):
    """Nobody who knows a secret of ours has sent this, or not now; the message says why, for us."""


@dataclass(frozen=True)
class Key:
    """What signs: the bytes of one secret. Never printed."""

    _bytes: bytes

    @classmethod
    def of(cls, secret: str) -> "Key":
        """Read `whsec_` and base64, the prefix optional; raise InvalidSecret."""
        try:
            key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            raise InvalidSecret("what follows whsec_ is not base64") from None
        if len(key) < _SHORTEST_KEY_BYTES:
            raise InvalidSecret(f"it has fewer than {_SHORTEST_KEY_BYTES} bytes")
        return cls(key)

    def sign(self, body: bytes, *, id_: str, timestamp: int) -> str:
        """Return the signature of one message, with its version."""
        return f"{_VERSION},{base64.b64encode(self._digest(body, id_, str(timestamp))).decode()}"

    def _digest(self, body: bytes, id_: str, timestamp: str) -> bytes:
        return hmac.digest(
            self._bytes, b".".join([id_.encode(), timestamp.encode(), body]), "sha256"
        )

    def __repr__(self) -> str:
        return "Key(…)"


def headers(key: Key, body: bytes, *, id_: str, timestamp: int) -> dict[str, str]:
    """Return the headers that a sender adds to the body."""
    return {
        "svix-id": id_,
        "svix-timestamp": str(timestamp),
        "svix-signature": key.sign(body, id_=id_, timestamp=timestamp),
    }


def verify(
    body: bytes, given: Mapping[str, str], keys: Iterable[Key], *, now_seconds: float
) -> str:
    """Return the message's id if one of the keys signed it within the tolerance.

    `given` finds a header whatever its case; `body` is the raw one, byte by byte. Raise
    NotAuthentic. Every key and signature is compared, in constant time, whichever fits.
    """
    id_, timestamp, signatures = _read(given, now_seconds)
    offered = [_decoded(signature) for signature in signatures.split()[:_MOST_SIGNATURES]]
    fits = False
    for key in keys:
        expected = key._digest(body, id_, timestamp)
        for signature in offered:
            fits |= hmac.compare_digest(expected, signature)
    if not fits:
        raise NotAuthentic("no signature fits")
    return id_


def refuse_unsigned(given: Mapping[str, str], *, now_seconds: float) -> None:
    """Raise NotAuthentic for headers that fit no body at all: it need not even be read."""
    _, _, signatures = _read(given, now_seconds)
    if not any(map(_decoded, signatures.split()[:_MOST_SIGNATURES])):
        raise NotAuthentic("there is no signature that could fit")


def _read(given: Mapping[str, str], now_seconds: float) -> tuple[str, str, str]:
    for spelling in _SPELLINGS:
        found = [given.get(f"{spelling}-{name}", "") for name in ("id", "timestamp", "signature")]
        if any(found):
            id_, timestamp, signatures = found
            break
    else:
        raise NotAuthentic("the headers of a signature are missing")
    if not _ID.fullmatch(id_) or not _TIMESTAMP.fullmatch(timestamp) or not signatures:
        raise NotAuthentic("the headers of a signature are not whole")
    if abs(now_seconds - int(timestamp)) > TOLERANCE.total_seconds():
        raise NotAuthentic("the timestamp is too far from our clock")
    return id_, timestamp, signatures


def _decoded(signature: str) -> bytes:
    """Return the bytes of one signature; none for what is of another version, or nonsense."""
    version, _, encoded = signature.partition(",")
    if version != _VERSION:
        return b""
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""
