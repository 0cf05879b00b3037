"""The ground that adapters over HTTP stand on: one POST, and what its failure means."""

import json
from collections.abc import Mapping

from deliveries.errors import AccountProblem, PermanentFailure, TemporaryFailure
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


def json_body(values: Mapping[str, object]) -> bytes:
    """Return the values as JSON: the same values give the same bytes, for ever.

    Raise `PermanentFailure` for what no text can hold: half of a surrogate pair.
    """
    try:
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise PermanentFailure(
            f"It cannot be written as JSON: {error}", by_provider=False
        ) from None
