"""One attempt, as a worker's thread makes it: compose, freeze, hand over, say what came of it."""

import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from django.db import InterfaceError, OperationalError, connection

from deliveries import kinds, ledger, retry
from deliveries.errors import DeliveryError, LeaseLost
from deliveries.ledger import Claim, LeaseTooShort
from deliveries.models import Delivery, Message
from deliveries.outcomes import Cancelled, Outcome, PutBack, Sent
from deliveries.policy import Policy
from deliveries.providers import Provider

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a thread tells the dispatcher; no outcome if the lease was lost meanwhile."""

    claim: Claim
    outcome: Outcome | None
    failure: Exception | None = None
    reached_provider: bool = False
    send_seconds: float | None = None


class Attempt:
    """Carries one claim through; `run` never raises."""

    def __init__(
        self, claim: Claim, *, provider: Provider, policy: Policy, chance: Callable[[], float]
    ) -> None:
        self._claim = claim
        self._provider = provider
        self._policy = policy
        self._chance = chance
        self._handed_over = False
        self._send_seconds: float | None = None

    def run(self) -> Report:
        failure: Exception | None = None
        outcome: Outcome | None
        try:
            outcome = self._carry_out()
        except LeaseLost as error:
            logger.warning("attempt abandoned", extra={"why": str(error)})
            outcome = None
        except LeaseTooShort as error:
            outcome = PutBack(why=str(error), may_have_accepted=self._handed_over_before)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is an outcome
            failure, outcome = error, self._failed(error)
        return Report(
            claim=self._claim,
            outcome=outcome,
            failure=failure,
            reached_provider=self._handed_over and failure is None,
            send_seconds=self._send_seconds,
        )

    def _carry_out(self) -> Outcome:
        delivery = self._delivery()
        kind = kinds.get(delivery.kind)
        if why := kind.still_wanted(delivery):
            if self._handed_over_before:
                why += " An earlier attempt may have reached the customer."
            return Cancelled(why=why)
        message = self._stored_message() or kind.compose(delivery)
        ledger.begin_hand_over(
            self._claim,
            message,
            needs=self._policy.send_timeout + self._policy.lease_margin,
            key_lifetime=self._policy.key_lifetime,
        )
        # The network is never called with a transaction open or a row locked.
        connection.close_if_unusable_or_obsolete()
        self._handed_over = True
        started = time.monotonic()
        try:
            receipt = self._provider.send(message, idempotency_key=self._claim.idempotency_key)
        finally:
            self._send_seconds = time.monotonic() - started
        return Sent(provider_message_id=receipt.id, replayed=receipt.replayed)

    @property
    def _handed_over_before(self) -> bool:
        return self._claim.handed_over_at is not None

    def _delivery(self) -> Delivery:
        try:
            return Delivery.objects.get(
                pk=self._claim.delivery_id,
                status=Delivery.Status.RUNNING,
                lease_token=self._claim.token,
            )
        except Delivery.DoesNotExist:
            raise LeaseLost("another worker has it") from None

    def _stored_message(self) -> Message | None:
        return Message.objects.filter(idempotency_key=self._claim.idempotency_key).first()

    def _failed(self, error: Exception) -> Outcome:
        if _database_gone(error):
            return PutBack(
                why="the database was not reachable",
                may_have_accepted=self._handed_over or self._handed_over_before,
            )
        details: dict[str, object] = {}
        if isinstance(error, DeliveryError):
            logger.info("attempt did not succeed", extra={"error": type(error).__name__})
        else:
            logger.error("attempt failed by a fault of ours", exc_info=error)
            details = {"traceback": "".join(traceback.format_exception(error))[-8000:]}
        return retry.decide(
            error,
            attempts=self._claim.attempts,
            handed_over_before=self._handed_over_before,
            handed_over_now=self._handed_over,
            policy=self._policy,
            chance=self._chance(),
            details=details,
        )


def _database_gone(error: Exception) -> bool:
    """Tell whether the connection itself broke: then the delivery is not to blame."""
    return isinstance(error, InterfaceError | OperationalError) and not connection.is_usable()
