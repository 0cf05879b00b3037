"""What can go wrong with a delivery, in the words that callers catch."""

from datetime import timedelta


class DeliveryError(Exception):
    """Base of everything this app raises on purpose."""


class LeaseLost(DeliveryError):
    """The row is no longer ours: its lease ran out and somebody else has it, or it is final."""


class WrongState(DeliveryError):
    """The delivery is not in a state from which this is possible; nothing was written."""


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
    """The provider knows this message and refuses it; no attempt will ever succeed."""


class OutcomeUnknown(ProviderFailure):
    """The provider may have accepted it and there is no way to find out."""


class Throttled(ProviderFailure):
    """The provider asks for fewer messages: the lane waits, the message is not to blame."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class AccountProblem(ProviderFailure):
    """Our account or configuration is refused: every message would fail, so the lane pauses."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
