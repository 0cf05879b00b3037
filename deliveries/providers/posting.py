"""The ground that adapters over HTTP stand on: one POST, and what its failure means."""

from deliveries.errors import AccountProblem, TemporaryFailure
from deliveries.providers.session import (
    AddressUnusable,
    Answer,
    DeadlineSession,
    ExchangeFailed,
)


def post(session: DeadlineSession, *, body: bytes, headers: dict[str, str]) -> Answer:
    """POST within the session's time limit; raise a `ProviderFailure` if no whole answer came."""
    try:
        return session.post(body=body, headers=headers)
    except AddressUnusable as error:
        raise AccountProblem(str(error), look_at=error.look_at) from error
    except ExchangeFailed as error:
        raise TemporaryFailure(str(error), may_have_accepted=error.request_begun) from error
