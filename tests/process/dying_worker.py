"""A delivery worker that kills itself with SIGKILL at a named point: `dying_worker.py POINT`.

At "freeze-in-settle" it suspends itself instead, in the middle of that transaction.

It is the real worker; only the provider, or the kind, that is handed to it pulls the plug.
"""

import os
import signal
import sys
from pathlib import Path

import django

sys.path.insert(0, str(Path.cwd()))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "invoicehub.settings")
django.setup()

from django.conf import settings  # noqa: E402

from deliveries import kinds, providers  # noqa: E402
from deliveries.models import Delivery, Message  # noqa: E402
from deliveries.policy import Policy  # noqa: E402
from deliveries.providers import Provider, Receipt  # noqa: E402
from deliveries.worker import Worker  # noqa: E402
from invoices.emails import InvoiceEmail  # noqa: E402


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingKind(InvoiceEmail):
    """Dies right after the claim, or inside the settling transaction."""

    def __init__(self, point: str) -> None:
        self._point = point

    def still_wanted(self, delivery: Delivery) -> str:
        if self._point == "after-claim":
            die()
        return super().still_wanted(delivery)

    def on_settled(self, delivery: Delivery) -> None:
        super().on_settled(delivery)
        if self._point == "in-settle":
            die()
        if self._point == "freeze-in-settle":
            self._point = ""
            os.kill(os.getpid(), signal.SIGSTOP)


class DyingProvider:
    """Dies when the message is stored and nothing was sent, or when it was accepted."""

    def __init__(self, provider: Provider, point: str) -> None:
        self._provider = provider
        self._point = point

    def send(self, message: Message, *, idempotency_key: str) -> Receipt:
        if self._point == "after-store":
            die()
        receipt = self._provider.send(message, idempotency_key=idempotency_key)
        if self._point == "after-accept":
            die()
        return receipt

    def close(self) -> None:
        self._provider.close()


def main(point: str) -> None:
    kinds.register(DyingKind(point))
    Worker(
        provider=DyingProvider(providers.from_settings(settings.EMAIL_PROVIDER), point),
        policy=Policy.from_settings(),
        name=f"dies-{point}",
        threads=1,
    ).run()


if __name__ == "__main__":
    main(sys.argv[1])
