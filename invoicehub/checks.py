"""System checks: the settings of the database fit each other."""

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

# What a URL may ask of a connection, but no pooler keeps from one transaction to the next.
_OF_A_SESSION = ("assume_role", "options", "prepare_threshold")


def something_is_pooled() -> CheckMessage | None:
    if settings.DATABASES["default"]["ENGINE"] != "invoicehub.embedded":
        return None
    return Error(
        "DATABASE_POOLER is transaction, but DATABASE_URL is not set: no pooler stands before the "
        "private PostgreSQL.",
        hint="Set DATABASE_URL to the pooler's address, or remove DATABASE_POOLER.",
        id="invoicehub.E001",
    )


def direct_leads_elsewhere() -> CheckMessage | None:
    pooled, direct = settings.DATABASES["default"], settings.DATABASES.get("direct")
    if direct is None or _place(direct) != _place(pooled):
        return None
    return Error(
        "DATABASE_DIRECT_URL leads to the same host and port as DATABASE_URL, which is the pooler: "
        "a worker that listens there hears nothing.",
        hint="Set DATABASE_DIRECT_URL to PostgreSQL itself, or remove it: workers then poll.",
        id="invoicehub.E003",
    )


def url_asks_for_no_session() -> CheckMessage | None:
    options = settings.DATABASES["default"].get("OPTIONS", {})
    asked = [name for name in _OF_A_SESSION if name in options]
    if not asked:
        return None
    return Error(
        f"DATABASE_URL asks for {', '.join(asked)}, which a pooler in transaction mode refuses or "
        "forgets.",
        hint="Remove it there; what PostgreSQL shall know of us, set by ALTER ROLE … SET ….",
        id="invoicehub.E004",
    )


def _place(database: dict[str, Any]) -> tuple[str, str]:
    """Return where it listens: an address in the URL, or a socket's folder among its options."""
    reach = {name.lower(): value for name, value in database.items()} | database.get("OPTIONS", {})
    return str(reach.get("host", "")).lower(), str(reach.get("port") or 5432)


_RULES: Sequence[Callable[[], CheckMessage | None]] = (
    something_is_pooled,
    direct_leads_elsewhere,
    url_asks_for_no_session,
)


@register()
def check_pooler(**kwargs: Any) -> list[CheckMessage]:
    if settings.DATABASE_POOLER == "transaction":
        return [message for rule in _RULES if (message := rule()) is not None]
    if "direct" not in settings.DATABASES:
        return []
    return [
        Error(
            "DATABASE_DIRECT_URL is set, but DATABASE_POOLER is none: nothing leads past a pooler "
            "that is not there.",
            hint="Set DATABASE_POOLER to transaction, or remove DATABASE_DIRECT_URL.",
            id="invoicehub.E002",
        )
    ]
