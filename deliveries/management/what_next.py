"""What to do about a test e-mail's failure: which settings to look at, how long to wait."""

import re
from collections.abc import Callable

from django.conf import settings

from deliveries.errors import (
    AccountProblem,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)

# SMTP's replies that do not say by themselves what is meant.
_REPLY = re.compile(r"refused (?:it(?: for now)?: |\S+@\S+: )(\d{3})\b")
_BY_REPLY = {
    "552": "552: the e-mail is larger than the mail server takes, or the mailbox is full. If a "
    "test is refused so, it is the mailbox.",
    "451": "451: often greylisting; the mail server takes it from an address that comes again some "
    "minutes later. A worker would.",
}


def what_next(failure: ProviderFailure) -> str:
    """Return what to do, in a few sentences; "" if nobody knows."""
    reply = _REPLY.search(str(failure))
    if reply and reply[1] in _BY_REPLY:
        return _BY_REPLY[reply[1]]
    found = (say for kind, say in _SAY.items() if isinstance(failure, kind))
    return next((say(failure) for say in found), "")


def _account(failure: ProviderFailure) -> str:
    look_at = failure.look_at if isinstance(failure, AccountProblem) else ()
    what = f"Look at {_listed(look_at)}" if look_at else "Mend the account at the provider"
    return f"{what}. A worker would pause the lane until then."


def _throttled(failure: ProviderFailure) -> str:
    wait = failure.retry_after if isinstance(failure, Throttled) else None
    if wait is None:
        return (
            "Wait a while and try again: it does not say how long. A worker would pause the lane."
        )
    return (
        f"Wait {wait.total_seconds():,.0f} s, as it asks, and try again. A worker would pause the "
        "lane for as long."
    )


def _refused(failure: ProviderFailure) -> str:
    return "Look at EMAIL_FROM and at the address. A worker would not try again."


def _unknown(failure: ProviderFailure) -> str:
    return "Look in the inbox: it may have arrived. A worker would ask a person."


def _temporary(failure: ProviderFailure) -> str:
    where = "EMAIL_HOST, EMAIL_PORT" if settings.EMAIL_PROVIDER == "smtp" else "EMAIL_PROVIDER_URL"
    advice = f"Try again; if it stays so, look at {where} and the network. A worker would retry."
    if isinstance(failure, TemporaryFailure) and failure.may_have_accepted:
        return f"The test may have arrived all the same: look in the inbox. {advice}"
    return advice


_SAY: dict[type[ProviderFailure], Callable[[ProviderFailure], str]] = {
    AccountProblem: _account,
    Throttled: _throttled,
    PermanentFailure: _refused,
    OutcomeUnknown: _unknown,
    TemporaryFailure: _temporary,
}


def _listed(names: tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
