"""What POST /messages does with a message, apart from HTTP and from the faults of the network."""

import hashlib
import logging
import threading
from dataclasses import dataclass, field

from deliveries.sandbox.answers import Answer, Refusal, json_answer
from deliveries.sandbox.faults import Faults
from deliveries.sandbox.messages import read_message, recipients
from deliveries.sandbox.store import Store
from deliveries.sandbox.traffic import Traffic
from deliveries.sandbox.webhooks import Webhooks

logger = logging.getLogger(__name__)


class Stopping(Exception):
    """The provider is being stopped: nothing was stored, and there is no answer."""


@dataclass(frozen=True)
class Sandbox:
    """One provider account: what all connections share."""

    store: Store
    faults: Faults
    traffic: Traffic
    api_key: str | None = None
    webhooks: Webhooks | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    def hand_over(self, key: str, body: bytes) -> Answer:
        """Accept the message, or the replay of one; raise a Refusal, or Stopping."""
        digest = hashlib.sha256(body).hexdigest()
        try:
            with self.store.reservation(key, digest=digest) as accepted_before:
                self._take_time()
                if accepted_before is None:
                    return self._accept(key, digest, body)
        except OSError as error:
            logger.exception("The sandbox could not store a message")
            raise Refusal(503, "unavailable", f"Could not store the message: {error}") from error
        self.traffic.count("replayed")
        return json_answer({"id": accepted_before, "replayed": True})

    def _accept(self, key: str, digest: str, body: bytes) -> Answer:
        message = read_message(body)
        for address in recipients(message):
            if self.faults.refuses(address):
                raise Refusal(422, "invalid_address", f"{address!r} is refused by a fault switch.")
        message_id = self.store.accept(key, digest=digest, message=message)
        self.traffic.count("accepted")
        if self.webhooks is not None:
            self.webhooks.tell(message_id, key=key, recipients=recipients(message))
        return json_answer({"id": message_id, "replayed": False})

    def _take_time(self) -> None:
        seconds = self.faults.delay_seconds
        if seconds and self.stopping.wait(seconds):
            raise Stopping
