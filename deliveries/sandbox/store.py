"""The accepted messages and their idempotency keys: the sandbox's memory of what it promised."""

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deliveries.sandbox.answers import Refusal
from deliveries.sandbox.messages import Message, recipients
from deliveries.sandbox.shelves import Document, Shelf, StoreError

_LISTED = ("from", "to", "cc", "reply_to", "subject", "headers")


@dataclass
class Entry:
    """What is kept in memory of an accepted message: all but its bodies and attachments."""

    summary: dict[str, Any]
    sequence: int
    digest: str
    recipients: frozenset[str]
    hand_overs: int

    def listed(self) -> dict[str, Any]:
        return {**self.summary, "hand_overs": self.hand_overs}


class Store:
    """Accepts each idempotency key once, under any race.

    A key is first reserved in memory, then its message is written (slow, without the lock), then
    it stands in the index. Only the holder of the reservation may accept.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._keys_by_id: dict[str, str] = {}
        self._in_progress: set[str] = set()
        self._hand_overs_before_acceptance: Counter[str] = Counter()
        try:
            for document in sorted(shelf.load(), key=lambda loaded: loaded["sequence"]):
                self._add(document)
        except (KeyError, TypeError, Refusal) as error:
            raise StoreError(f"The data directory holds an unreadable message: {error!r}") from None
        self._sequence = max((entry.sequence for entry in self._entries.values()), default=0)

    def note_hand_over(self, key: str) -> None:
        """Count that the key was handed over, whatever becomes of it."""
        with self._lock:
            self._note_hand_overs(key, 1)

    @contextmanager
    def reservation(self, key: str, *, digest: str) -> Iterator[str | None]:
        """Hold the key, giving None; or give the id of the message accepted under it before.

        Raises a Refusal when the key is held by another request, or was accepted with another body.
        """
        with self._lock:
            accepted = self._reserve(key, digest)
        try:
            yield accepted
        finally:
            if accepted is None:
                with self._lock:
                    self._in_progress.discard(key)

    def accept(self, key: str, *, digest: str, message: Message) -> str:
        """Keep the message for good under the reserved key and return its new id."""
        with self._lock:
            self._sequence += 1
            document: Document = {
                "id": f"msg_{uuid.uuid4().hex}",
                "idempotency_key": key,
                "received_at": datetime.now(UTC).isoformat(),
                "sequence": self._sequence,
                "digest": digest,
                "hand_overs": self._hand_overs_before_acceptance.pop(key, 0),
                "message": message,
            }
        self._shelf.put(document)
        with self._lock:
            self._add(document)
            meanwhile = self._hand_overs_before_acceptance.pop(key, 0)
            self._note_hand_overs(key, meanwhile)
        return str(document["id"])

    def messages(
        self, *, to: str | None = None, key: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """List messages, newest first, without bodies and without the attachments' content."""
        with self._lock:
            newest_first = sorted(self._entries.values(), key=lambda entry: -entry.sequence)
            found = [
                entry.listed()
                for entry in newest_first
                if (to is None or to.lower() in entry.recipients)
                and (key is None or key == entry.summary["idempotency_key"])
            ]
        return found if limit is None else found[:limit]

    def message(self, message_id: str) -> dict[str, Any]:
        """Return the whole message, or raise a Refusal (404)."""
        with self._lock:
            key = self._keys_by_id.get(message_id)
            if key is None:
                raise Refusal(404, "not_found", f"There is no message {message_id!r}.")
            document = self._shelf.get(key)
            return {**document["message"], **self._entries[key].listed(), **_content_of(document)}

    def clear(self) -> int:
        """Empty the inbox and forget its keys; return how many messages there were.

        A message that is being written at this moment is not in the index yet, and arrives after.
        """
        with self._lock:
            for key in self._entries:
                self._shelf.remove(key)
            count = len(self._entries)
            self._entries.clear()
            self._keys_by_id.clear()
            self._hand_overs_before_acceptance.clear()
        return count

    def __len__(self) -> int:
        return len(self._entries)

    def close(self) -> None:
        self._shelf.close()

    def _reserve(self, key: str, digest: str) -> str | None:
        entry = self._entries.get(key)
        if entry is not None:
            if entry.digest != digest:
                raise Refusal(
                    409, "idempotency_key_reused", "This key was used before with another body."
                )
            return str(entry.summary["id"])
        if key in self._in_progress:
            raise Refusal(409, "in_progress", "A message with this key is being handled.")
        self._in_progress.add(key)
        return None

    def _note_hand_overs(self, key: str, count: int) -> None:
        entry = self._entries.get(key)
        if entry is None:
            self._hand_overs_before_acceptance[key] += count
            return
        entry.hand_overs += count
        for _ in range(count):
            self._shelf.add_hand_over(key)

    def _add(self, document: Document) -> None:
        key = document["idempotency_key"]
        message = document["message"]
        self._keys_by_id[document["id"]] = key
        self._entries[key] = Entry(
            summary=_summary(document),
            sequence=document["sequence"],
            digest=document["digest"],
            recipients=frozenset(address.lower() for address in recipients(message)),
            hand_overs=document["hand_overs"],
        )


def _summary(document: Document) -> dict[str, Any]:
    message = document["message"]
    return {
        "id": document["id"],
        "idempotency_key": document["idempotency_key"],
        "received_at": document["received_at"],
        **{field: message[field] for field in _LISTED if field in message},
        "headers": message.get("headers") or {},
        "attachments": [
            {name: attachment[name] for name in ("filename", "content_type", "size")}
            for attachment in message["attachments"]
        ],
    }


def _content_of(document: Document) -> dict[str, Any]:
    return {"attachments": document["message"]["attachments"]}
