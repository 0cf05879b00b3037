"""What can go wrong with a delivery, in the words that callers catch."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.db import InterfaceError, InternalError, OperationalError

# What Django calls an error of the database and not of what was asked. A transaction that
# PostgreSQL ended for standing still, and a standby that takes no changes, are internal errors.
DATABASE_TROUBLE = (InterfaceError, OperationalError, InternalError)


def sqlstate(error: BaseException) -> str | None:
    state: str | None = getattr(error.__cause__, "sqlstate", None)
    return state


def connection_lost(error: BaseException) -> bool:
    """Tell a lost connection from a statement that failed on it: a lock, a deadlock, a timeout."""
    if not isinstance(error, DATABASE_TROUBLE):
        return False
    state = sqlstate(error)
    # Class 08 is a broken connection, 57P a server that shuts down, 25P03 a transaction that it
    # ended since it stood still; without a state, libpq spoke.
    return state is None or state.startswith(("08", "57P", "25P03"))


class DeliveryError(Exception):
    """Base of everything this app raises on purpose."""


class LeaseLost(DeliveryError):
    """The row is no longer ours: its lease ran out and somebody else has it, or it is final."""


class WrongState(DeliveryError):
    """The delivery is not in a state from which this is possible; nothing was written."""


class LedgerBroken(DeliveryError):
    """The tables contradict each other; nothing was written. See `manage.py check_ledger`."""


class ConfirmationNeeded(DeliveryError):
    """The provider may have accepted the message and its key has expired: a person must decide."""


class UnknownKind(DeliveryError):
    """This version of the code does not know that kind of delivery."""


class NotSendable(DeliveryError):
    """The message cannot be composed as the data stand; the text says what a person must do."""


class ProviderFailure(DeliveryError):
    """The provider, or the way to it, did not accept a message."""


class TemporaryFailure(ProviderFailure):
    """Worth another attempt under the same key with the same bytes.

    `may_have_accepted` is False only where the provider certainly never got the message.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry_after: timedelta | None = None,
        may_have_accepted: bool = True,
        provider_down: bool = True,
    ) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.may_have_accepted = may_have_accepted
        self.provider_down = provider_down


class PermanentFailure(ProviderFailure):
    """The message is refused, and no attempt will ever succeed.

    `by_provider` says that the refusal is the provider's own: it knows the key, so it cannot have
    accepted the message before. A gateway's page between us and it proves nothing of the kind.
    `refused` says, by recipient, why that mailbox will take no e-mail at all.
    """

    def __init__(
        self, reason: str, *, by_provider: bool = True, refused: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(reason)
        self.by_provider = by_provider
        self.refused = dict(refused or {})


class OutcomeUnknown(ProviderFailure):
    """The provider may have accepted it and there is no way to find out."""


class LaneFailure(ProviderFailure):
    """No message is to blame, and every one would fail: the lane pauses.

    `summary` is a sentence of ours, for every organization's pages and for logs. `reason` may hold
    the provider's words, and with them somebody's address: it stays in that delivery's timeline.
    """

    def __init__(
        self, reason: str, *, summary: str = "", retry_after: timedelta | None = None
    ) -> None:
        super().__init__(reason)
        self.summary = summary or reason
        self.retry_after = retry_after


class Throttled(LaneFailure):
    """The provider asks for fewer messages."""


class AccountProblem(LaneFailure):
    """Our account or configuration is refused; `look_at` names the settings that may be wrong."""

    def __init__(
        self,
        reason: str,
        *,
        summary: str = "",
        retry_after: timedelta | None = None,
        look_at: Sequence[str] = (),
    ) -> None:
        super().__init__(reason, summary=summary, retry_after=retry_after)
        self.look_at = tuple(look_at)
