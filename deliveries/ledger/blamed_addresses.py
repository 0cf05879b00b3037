"""Whose address an event is about, where an e-mail went to several."""

import re
from collections.abc import Iterator, Sequence
from email.utils import parseaddr

from deliveries.models import ProviderEvent

# The parts of an event that explain it, whichever provider's.
_EXPLANATIONS = ("bounce", "suppressed", "failed", "delay", "complaint")
_ADDRESS = re.compile(r"[^\s<>()\[\]{}\",;:]+@[^\s<>()\[\]{}\",;:]+")


def bare(recipients: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses of recipients without their names, in lower case, each once."""
    found = (parseaddr(each)[1].strip().lower() for each in recipients)
    return tuple(dict.fromkeys(each for each in found if each))


def blame(event: ProviderEvent, recipients: Sequence[str]) -> str:
    """Return the one of these addresses (see `bare`) that the event is about; empty for unknown.

    What the receiving server says outweighs the event's list of recipients, which some providers
    merely repeat from the message.
    """
    if len(recipients) == 1:
        return recipients[0]
    named = {each for each in recipients if each in _addresses_in(event.payload)}
    if len(named) == 1:
        return named.pop()
    told = event.address.strip().lower()
    contradicted = named and told not in named
    return told if told in recipients and not contradicted else ""


def _addresses_in(payload: object) -> set[str]:
    found = (each for text in _texts(payload) for each in _ADDRESS.findall(text))
    return {each.strip("'`.").lower() for each in found}


def _texts(payload: object) -> Iterator[str]:
    data = payload.get("data") if isinstance(payload, dict) else None
    for part in _EXPLANATIONS if isinstance(data, dict) else ():
        details = data.get(part) if isinstance(data, dict) else None
        for value in details.values() if isinstance(details, dict) else ():
            yield from (each for each in _listed(value) if isinstance(each, str))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
