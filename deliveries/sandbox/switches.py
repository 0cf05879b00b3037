"""The fault switches as people write them, in JSON: what each may hold, and its defaults."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from deliveries.sandbox.addresses import has_control_characters
from deliveries.sandbox.answers import ERROR_NAMES

_NAME_BY_STATUS = {
    401: "invalid_api_key",
    402: "quota_exceeded",
    403: "invalid_api_key",
    404: "not_found",
    409: "in_progress",
    413: "payload_too_large",
    422: "invalid_address",
    429: "rate_limited",
}
LONGEST_DELAY_MS = 3_600_000


class InvalidSwitch(ValueError):
    """A switch that does not exist, or with a value it cannot have; the message says which."""


@dataclass(frozen=True)
class FailNext:
    """Answer the next `count` hand-overs with this status; nothing is stored."""

    status: int
    count: int
    retry_after: float | str | None
    name: str


@dataclass(frozen=True)
class Drip:
    """Send each answer a byte at a time."""

    interval_ms: float


@dataclass(frozen=True)
class RandomFailure:
    """Answer this share of hand-overs with 503; the same seed gives the same sequence."""

    rate: float
    seed: int


@dataclass(frozen=True)
class Switches:
    fail_next: FailNext | None = None
    delay_ms: float = 0
    drip: Drip | None = None
    hang_next: int = 0
    hang_after_accept_next: int = 0
    drop_before_next: int = 0
    drop_after_accept_next: int = 0
    cut_mid_answer_next: int = 0
    redirect_next: int = 0
    html_200_next: int = 0
    down: bool = False
    fail_addresses: list[str] = field(default_factory=list)
    random_failure: RandomFailure | None = None

    def changed(self, values: Mapping[str, Any]) -> "Switches":
        """Return these switches with some set anew; raise InvalidSwitch for a bad one."""
        _only(values, allowed=set(_READERS), where="the fault switches")
        return replace(self, **{name: _READERS[name](name, values[name]) for name in values})

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _fail_next(name: str, value: object) -> FailNext | None:
    if value is None:
        return None
    given = _object(name, value, allowed={"status", "count", "retry_after", "name"})
    status = _whole(f"{name}.status", given.get("status"), lowest=400, highest=599)
    count = _count(f"{name}.count", given.get("count", 1))
    error = given.get("name") or _NAME_BY_STATUS.get(status, "unavailable")
    if error not in ERROR_NAMES:
        raise InvalidSwitch(f"{name}.name must be one of: {', '.join(sorted(ERROR_NAMES))}.")
    retry_after = _retry_after(f"{name}.retry_after", given.get("retry_after"))
    return FailNext(status, count, retry_after, error) if count else None


def _drip(name: str, value: object) -> Drip | None:
    if value is None:
        return None
    given = _object(name, value, allowed={"interval_ms"})
    return Drip(_milliseconds(f"{name}.interval_ms", given.get("interval_ms")))


def _random_failure(name: str, value: object) -> RandomFailure | None:
    if value is None:
        return None
    given = _object(name, value, allowed={"rate", "seed"})
    rate = _number(f"{name}.rate", given.get("rate"), highest=1)
    seed = _whole(f"{name}.seed", given.get("seed", 0), lowest=0, highest=2**63)
    return RandomFailure(rate, seed) if rate else None


def _retry_after(name: str, value: object) -> float | str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        return _number(name, value, highest=10**9)
    if not value.isascii() or has_control_characters(value):
        raise InvalidSwitch(f"{name} must be ASCII without control characters.")
    return value


def _addresses(name: str, value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidSwitch(f"{name} must be a list of addresses.")
    return [address.lower() for address in value]


def _boolean(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidSwitch(f"{name} must be true or false.")
    return value


def _count(name: str, value: object) -> int:
    return _whole(name, value, lowest=0, highest=1_000_000)


def _milliseconds(name: str, value: object) -> float:
    return _number(name, value, highest=LONGEST_DELAY_MS)


def _whole(name: str, value: object, *, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise InvalidSwitch(f"{name} must be a whole number from {lowest} to {highest}.")
    return value


def _number(name: str, value: object, *, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= highest:
        raise InvalidSwitch(f"{name} must be a number from 0 to {highest}.")
    return value


def _object(name: str, value: object, *, allowed: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidSwitch(f"{name} must be null or an object with {_listed(allowed)}.")
    _only(value, allowed=allowed, where=name)
    return value


def _only(values: Mapping[str, Any], *, allowed: set[str], where: str) -> None:
    unknown = set(values) - allowed
    if unknown:
        raise InvalidSwitch(
            f"Unknown in {where}: {_listed(unknown)}. There are: {_listed(allowed)}."
        )


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


_READERS: dict[str, Callable[[str, object], Any]] = {
    "fail_next": _fail_next,
    "delay_ms": _milliseconds,
    "drip": _drip,
    "hang_next": _count,
    "hang_after_accept_next": _count,
    "drop_before_next": _count,
    "drop_after_accept_next": _count,
    "cut_mid_answer_next": _count,
    "redirect_next": _count,
    "html_200_next": _count,
    "down": _boolean,
    "fail_addresses": _addresses,
    "random_failure": _random_failure,
}
