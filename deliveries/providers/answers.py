"""What HTTP answers of e-mail providers have in common: JSON, words, ids, and sorting by status."""

import json
from datetime import timedelta
from typing import Any

from deliveries.errors import (
    AccountProblem,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.providers.base import Receipt
from deliveries.providers.session import Answer

USER_AGENT = "InvoiceHub/0.1"
MAX_ID_LENGTH = 255


def json_of(answer: Answer) -> dict[str, Any]:
    """Return the body's JSON object; an empty one if it holds none."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def name_of(answer: Answer) -> str:
    """Return the error's name, at the top or inside `error`; "" if it has none."""
    body = json_of(answer)
    error = body.get("error")
    name = error.get("name") if isinstance(error, dict) else body.get("name")
    return name if isinstance(name, str) else ""


def words_of(answer: Answer) -> str:
    """Return the provider's own words, on one line and not endless."""
    body = json_of(answer)
    error = body.get("error", body.get("message"))
    if isinstance(error, dict):
        error = error.get("message") or error.get("name")
    return one_line(error if isinstance(error, str) else answer.body.decode(errors="replace"))


def one_line(said: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in said).split())
    return line[:500] or "(nothing)"


def receipt(answer: Answer) -> Receipt:
    """Return the receipt that a 2xx holds; raise `TemporaryFailure` if there is no usable id."""
    body = json_of(answer)
    id_ = body.get("id")
    if isinstance(id_, int) and not isinstance(id_, bool):
        id_ = str(id_)
    id_ = id_.strip() if isinstance(id_, str) else ""
    # NUL and half a surrogate pair cannot even be stored.
    if not id_ or not id_.isprintable() or len(id_) > MAX_ID_LENGTH:
        # A proxy's page, an empty body: not believed. The same key finds out next time.
        raise TemporaryFailure(
            f"The provider answered {answer.status}, but without the id of an accepted message."
        )
    return Receipt(id=id_, replayed=body.get("replayed") is True)


def by_status(answer: Answer, wait: timedelta | None) -> ProviderFailure:
    """Return what an answer that is no 2xx means where its name says nothing more."""
    match answer.status:
        case 409:
            return _conflict(answer, wait)
        case 429:
            return _too_many(answer, wait)
        case 401 | 402 | 403 | 407:  # 402 is about paying the provider, 407 comes from our proxy.
            return account_refused(answer, wait)
        case status if status in {404, 405} or 300 <= status < 400:
            return address_wrong(answer, wait)
        case status if status in {408, 425} or status < 200 or status >= 500:
            return in_trouble(answer, wait)
        case _:
            return refused(answer, wait)


def in_trouble(answer: Answer, wait: timedelta | None) -> TemporaryFailure:
    words = f"The provider answered {answer.status}: {words_of(answer)}"
    return TemporaryFailure(words, retry_after=wait)


def refused(answer: Answer, wait: timedelta | None) -> PermanentFailure:
    return PermanentFailure(
        f"The provider refused it ({answer.status}): {words_of(answer)}",
        by_provider=bool(json_of(answer)),
    )


def account_refused(answer: Answer, wait: timedelta | None) -> AccountProblem:
    summary = f"The provider refuses our account ({answer.status})"
    return AccountProblem(
        f"{summary}: {words_of(answer)}",
        summary=f"{summary}.",
        retry_after=wait,
        look_at=("EMAIL_PROVIDER_API_KEY", "EMAIL_FROM"),
    )


def address_wrong(answer: Answer, wait: timedelta | None) -> AccountProblem:
    return AccountProblem(
        f"The provider's address is wrong: it answered {answer.status} there.",
        retry_after=wait,
        look_at=("EMAIL_PROVIDER_URL",),
    )


def still_working(answer: Answer, wait: timedelta | None) -> TemporaryFailure:
    # It is up and answers: no sign of an outage.
    return TemporaryFailure(
        "The provider is still working on an earlier attempt.",
        retry_after=wait,
        provider_down=False,
    )


def other_content(answer: Answer, wait: timedelta | None) -> OutcomeUnknown:
    return OutcomeUnknown(
        "The provider has another message under our key, and may have accepted that one. "
        f"It says: {words_of(answer)}"
    )


def quota_used_up(answer: Answer, wait: timedelta | None) -> AccountProblem:
    summary = "The provider's quota is used up"
    return AccountProblem(f"{summary}: {words_of(answer)}", summary=f"{summary}.", retry_after=wait)


def slow_down(answer: Answer, wait: timedelta | None) -> Throttled:
    summary = "The provider asks us to slow down"
    return Throttled(f"{summary}: {words_of(answer)}", summary=f"{summary}.", retry_after=wait)


def _conflict(answer: Answer, wait: timedelta | None) -> ProviderFailure:
    name = name_of(answer)
    if (
        "in_progress" in name
        or "concurrent" in name
        or (not name and "in progress" in words_of(answer).lower())
    ):
        return still_working(answer, wait)
    return other_content(answer, wait)


def _too_many(answer: Answer, wait: timedelta | None) -> ProviderFailure:
    if "quota" in name_of(answer):
        return quota_used_up(answer, wait)
    return slow_down(answer, wait)
