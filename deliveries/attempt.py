"""One attempt, as a worker's thread makes it: compose, freeze, hand over, say what came of it."""

import logging
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from django.db import close_old_connections, connection

from deliveries import kinds, ledger, retry
from deliveries.errors import (
    DATABASE_TROUBLE,
    DeliveryError,
    LaneFailure,
    LeaseLost,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
    connection_lost,
)
from deliveries.kinds import Kind
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
    # The provider was there and knew what to say: no outage, whatever it said.
    reached_provider: bool = False
    # This process cannot reach the database: the next attempt would not either.
    database_gone: bool = False
    compose_seconds: float | None = None
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
        self._compose_seconds: float | None = None
        self._send_seconds: float | None = None

    def run(self) -> Report:
        failure: Exception | None = None
        outcome: Outcome | None
        try:
            close_old_connections()
            outcome = self._carry_out()
        except LeaseLost as error:
            logger.warning("attempt abandoned", extra={"why": str(error)})
            outcome = None
        except LeaseTooShort as error:
            outcome = PutBack(why=str(error), may_have_accepted=self._handed_over_before)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is an outcome
            # Not only an Exception: a panic in Rust, under typst, is none.
            failure = self._judged(error) if isinstance(error, Exception) else Panic(error)
            outcome = self._failed(failure)
        with suppress(Exception):
            close_old_connections()
        return Report(
            claim=self._claim,
            outcome=outcome,
            failure=failure,
            reached_provider=self._handed_over and _was_answered(failure),
            database_gone=isinstance(outcome, PutBack) and _is_of_the_database(failure),
            compose_seconds=self._compose_seconds,
            send_seconds=self._send_seconds,
        )

    def _carry_out(self) -> Outcome:
        delivery = self._delivery()
        kind = kinds.get(delivery.kind)
        if why := kind.still_wanted(delivery):
            if self._handed_over_before:
                why += " An earlier attempt may have reached the customer."
            return Cancelled(why=why)
        message = self._stored_message() or self._composed(kind, delivery)
        leased_at = time.monotonic()
        ledger.begin_hand_over(
            self._claim,
            message,
            needs=self._policy.send_timeout + self._policy.lease_margin,
            key_lifetime=self._policy.key_lifetime,
        )
        # The network is never called with a transaction open or a row locked.
        connection.close_if_unusable_or_obsolete()
        started = time.monotonic()
        if started - leased_at > self._policy.lease_margin.total_seconds():
            # Suspended, or starved: what was left of the lease is not what it was.
            raise LeaseTooShort("too much of the lease went by before the hand-over")
        self._handed_over = True
        try:
            receipt = self._provider.send(message, idempotency_key=self._claim.idempotency_key)
        finally:
            self._send_seconds = time.monotonic() - started
        return Sent(
            provider_message_id=receipt.id,
            replayed=receipt.replayed,
            took_recipients=receipt.took_recipients,
        )

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

    def _composed(self, kind: Kind, delivery: Delivery) -> Message:
        started = time.monotonic()
        try:
            return kind.compose(delivery)
        finally:
            self._compose_seconds = time.monotonic() - started

    def _judged(self, error: Exception) -> Exception:
        """Blame the message, not the lane, where only this one is refused so."""
        if isinstance(error, LaneFailure):
            with suppress(*DATABASE_TROUBLE):
                if ledger.singled_out(self._claim):
                    return _of_the_message(error)
        return error

    def _failed(self, error: Exception) -> Outcome:
        # A connection that broke may have been made anew by now.
        if _is_of_the_database(error) and (connection_lost(error) or not connection.is_usable()):
            # The delivery is not to blame.
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


def _of_the_message(failure: LaneFailure) -> ProviderFailure:
    """Return what the failure means if it is about the one message."""
    if isinstance(failure, Throttled):
        return TemporaryFailure(
            f"The provider slows down this one alone: {failure}",
            retry_after=failure.retry_after,
            may_have_accepted=False,
            provider_down=False,
        )
    # Accounts are checked before keys are looked up: it proves nothing about an earlier attempt.
    words = f"The provider refuses this one as if it were our account: {failure}"
    return PermanentFailure(words, by_provider=False)


class Panic(Exception):
    """Carries what is no `Exception` to where failures are sorted."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.__cause__ = cause


def _was_answered(failure: Exception | None) -> bool:
    match failure:
        case None | PermanentFailure() | OutcomeUnknown():
            return True
        case TemporaryFailure():
            return not failure.provider_down
        case _:
            return False


def _is_of_the_database(failure: Exception | None) -> bool:
    return isinstance(failure, DATABASE_TROUBLE)
