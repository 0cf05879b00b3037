"""The correlation id that ties a request, its delivery, the attempts and their log lines."""

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NOTHING: Mapping[str, object] = MappingProxyType({})
_fields: ContextVar[Mapping[str, object]] = ContextVar("log_fields", default=_NOTHING)


def new_id() -> str:
    return uuid.uuid4().hex


def accepted(candidate: str | None) -> str:
    """Return the caller's id if it is safe to log and to put in a header, else a new one."""
    return candidate if candidate and _ACCEPTABLE.fullmatch(candidate) else new_id()


@contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Add fields to every log line written inside the block, in this thread or task."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)


def fields() -> Mapping[str, object]:
    return _fields.get()


def current_id() -> str:
    """Return the correlation id in force; outside any request or delivery, a new one."""
    return str(_fields.get().get("correlation_id") or new_id())
