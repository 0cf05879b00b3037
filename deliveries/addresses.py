"""Addresses as the wire wants them, domains in ASCII, and URLs as people may see them."""

import re

import idna

_DOMAIN = re.compile(r"@([^@<>\s]+)(>?\s*)$")


def with_ascii_domain(address: str) -> str:
    """Return the address, bare or behind a name, with an international domain as punycode.

    By IDNA 2008: the older rules, which Python and Django go by, make strasse.de of straße.de,
    and that is somebody else. Raise `ValueError` for what is no domain.
    """
    found = _DOMAIN.search(address)
    if found is None or found[1].isascii():
        return address
    try:
        domain = idna.encode(found[1], uts46=True).decode()
    except idna.IDNAError as error:
        raise ValueError(f"“{found[1]}” is no domain: {error}") from None
    return f"{address[: found.start()]}@{domain}{found[2]}"


def domain_of(address: str) -> str:
    """Return the domain of a bare address, in ASCII."""
    return with_ascii_domain(address).rpartition("@")[2]


def without_password(url: str) -> str:
    """Return the URL, whole or garbled, without what stands before its @."""
    before, at, after = url.rpartition("@")
    scheme, slashes, _ = before.partition("//")
    return f"{scheme if slashes else ''}{slashes}***@{after}" if at else url
