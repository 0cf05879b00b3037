"""Telling whoever sent a message what became of it: signed webhooks, retried and repeated."""

import heapq
import http.client
import json
import logging
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit

from deliveries import signatures

logger = logging.getLogger(__name__)

# A real provider takes a second or two, and goes on for a day.
FIRST_AFTER_SECONDS = 0.3
NEXT_AFTER_SECONDS = 1.0
PAUSES_SECONDS = (0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300)
TIME_LIMIT_SECONDS = 10

_NO_SUCH_MAILBOX = {
    "type": "Permanent",
    "subType": "NoEmail",
    "message": "550 5.1.1 No such mailbox here",
}
_FULL = {"type": "Transient", "subType": "MailboxFull", "message": "452 4.2.2 The mailbox is full"}
_LISTED = {"type": "OnAccountSuppressionList", "message": "E-mails to it came back before"}

_Told = tuple[str, dict[str, Any]]
_DELIVERED: _Told = ("message.delivered", {})

# By the part before the @, whatever follows a +: bounce@…, bounce+anything@…
STORIES: dict[str, tuple[_Told, ...]] = {
    "bounce": (("message.bounced", {"bounce": _NO_SUCH_MAILBOX}),),
    "full": (("message.bounced", {"bounce": _FULL}),),
    "suppressed": (("message.suppressed", {"suppressed": _LISTED}),),
    "failed": (("message.failed", {"failed": {"reason": "reached_daily_quota"}}),),
    "complain": (_DELIVERED, ("message.complained", {})),
    "delayed": (("message.delayed", {"delay": {"message": "451 4.7.1 Greylisted"}}), _DELIVERED),
}


@dataclass(frozen=True, kw_only=True, order=True)
class _Post:
    """One event to post, not before its time."""

    due: float
    id: str
    body: bytes = field(compare=False)
    failures: int = field(default=0, compare=False)


class Webhooks:
    """Posts events from a thread of its own. What has not been told when it stops is forgotten.

    `repeats` is how often each event is posted although it was taken, as real providers do now
    and then; with the same id each time.
    """

    def __init__(self, url: str, secret: str, *, repeats: int = 1) -> None:
        self._url: SplitResult = urlsplit(url)
        if self._url.scheme not in {"http", "https"} or not self._url.hostname:
            raise ValueError(f"{url!r} is not an address such as http://127.0.0.1:8000/webhooks")
        self._key = signatures.Key.of(secret)
        self._repeats = repeats
        self._posts: list[_Post] = []
        self._changed = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="sandbox-webhooks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(TIME_LIMIT_SECONDS)

    def tell(self, message_id: str, *, key: str, recipients: Sequence[str]) -> None:
        """Tell in a moment what became of a message that was just accepted."""
        now = time.time()
        story = _story(recipients)
        with self._changed:
            for number, (type_, details) in enumerate(story):
                due = now + FIRST_AFTER_SECONDS + number * NEXT_AFTER_SECONDS
                happened = {"id": message_id, "to": list(recipients), "tags": {"delivery": key}}
                event = {
                    "type": type_,
                    "created_at": datetime.fromtimestamp(due, UTC).isoformat(),
                    "data": {**happened, **details},
                }
                post = _Post(due=due, id=f"evt_{uuid.uuid4().hex}", body=json.dumps(event).encode())
                for _ in range(self._repeats):
                    heapq.heappush(self._posts, post)
            self._changed.notify_all()

    def _run(self) -> None:
        while (post := self._next()) is not None:
            answered = self._post(post)
            if answered is None or not 200 <= answered < 300:
                self._again_later(post, answered)

    def _next(self) -> _Post | None:
        """Wait for the next event that is due; None once told to stop."""
        with self._changed:
            while not self._stopping:
                if not self._posts:
                    self._changed.wait()
                elif (wait := self._posts[0].due - time.time()) > 0:
                    self._changed.wait(wait)
                else:
                    return heapq.heappop(self._posts)
        return None

    def _again_later(self, post: _Post, answered: int | None) -> None:
        if post.failures >= len(PAUSES_SECONDS):
            logger.warning("A webhook was given up", extra={"event": post.id, "status": answered})
            return
        due = time.time() + PAUSES_SECONDS[post.failures]
        with self._changed:
            heapq.heappush(self._posts, replace(post, due=due, failures=post.failures + 1))

    def _post(self, post: _Post) -> int | None:
        """Post it once; return the status, or None if there was no answer."""
        secure = self._url.scheme == "https"
        connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = connect(self._url.hostname or "", self._url.port, timeout=TIME_LIMIT_SECONDS)
        signed = signatures.headers(self._key, post.body, id_=post.id, timestamp=int(time.time()))
        try:
            connection.request(
                "POST",
                self._url.path or "/",
                post.body,
                {"Content-Type": "application/json", "User-Agent": "InvoiceHub-sandbox", **signed},
            )
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


def _story(recipients: Sequence[str]) -> tuple[_Told, ...]:
    for address in recipients:
        story = STORIES.get(address.partition("@")[0].partition("+")[0].lower())
        if story:
            return story
    return (_DELIVERED,)
