"""Which e-mail addresses the sandbox finds valid: a short, documented rule, not all of RFC 5322.

An address has exactly one @, an ASCII local part, a domain with a dot, and no control characters.
Two more are always refused, so that a demo can show a permanent refusal: every address at the
domain `refused.example`, and the local part `refused` at any domain.
"""

import re
import unicodedata

REFUSED_DOMAIN = "refused.example"
REFUSED_LOCAL_PART = "refused"
LONGEST_ADDRESS = 254

_QUOTED_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|\([^()]*\)')
_NAMED = re.compile(r"[^<>]*<([^<>]*)>")
_LOCAL_PART = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+")
_DOMAIN_LABEL = re.compile(r"\w(?:[\w-]*\w)?")


class InvalidAddress(ValueError):
    """The text is not an address the sandbox delivers to; the message says why, for people."""


def addresses_in(field: str) -> list[str]:
    """Return the bare addresses of an RFC 5322 address list; raise InvalidAddress for a bad one.

    Display names and comments are dropped. A quoted local part ("a b"@example.com) is not
    supported, as at most providers.
    """
    if has_control_characters(field):
        raise InvalidAddress(f"{field!r} contains a line break or another control character.")
    bare = _QUOTED_OR_COMMENT.sub(" ", field)
    addresses = []
    for part in bare.split(","):
        named = _NAMED.fullmatch(part.strip())
        address = (named[1] if named else part).strip()
        _check(address, shown=address or field)
        addresses.append(address)
    return addresses


def has_control_characters(text: str) -> bool:
    """Say whether the text holds a control character or a line or paragraph separator."""
    return any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in text)


def _check(address: str, *, shown: str) -> None:
    if address.count("@") != 1:
        raise InvalidAddress(f"{shown!r} is not an address: it must contain exactly one @.")
    local_part, domain = address.split("@")
    if not local_part.isascii():
        raise InvalidAddress(f"{shown!r}: the part before the @ must be ASCII.")
    if not _LOCAL_PART.fullmatch(local_part):
        raise InvalidAddress(f"{shown!r}: the part before the @ is not valid.")
    labels = domain.split(".")
    if len(labels) < 2 or not all(_DOMAIN_LABEL.fullmatch(label) for label in labels):
        raise InvalidAddress(f"{shown!r}: {domain!r} is not a domain with a dot.")
    if len(address) > LONGEST_ADDRESS:
        raise InvalidAddress(f"{shown!r} is longer than {LONGEST_ADDRESS} characters.")
    if domain.lower() == REFUSED_DOMAIN or local_part.lower() == REFUSED_LOCAL_PART:
        raise InvalidAddress(f"{shown!r} is refused: this mailbox does not exist.")
