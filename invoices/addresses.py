"""Who gets an invoice's e-mail: one rule for what people enter, what pages warn of, what goes out.

An address is kept as people write it. On the wire its domain is punycode (IDNA 2008 with the
mapping of UTS 46), since that is what every provider takes; letters outside ASCII before the @ are
refused, since hardly one provider delivers to them (RFC 6531).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import idna
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from invoices.models import Invoice

# What the strictest provider takes in one message.
MOST = 50
# RFC 5321, 4.5.3.1: a local part, and a path without its angle brackets.
_LONGEST_LOCAL = 64
LONGEST = 254

_SEPARATORS = re.compile(r"[,;\s]+")


class Refused(ValueError):
    """What was entered is no list of addresses; the text says why, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong with an address. A fatal one must not be handed to a provider at all."""

    sentence: str
    fatal: bool


@dataclass(frozen=True, kw_only=True)
class Recipients:
    """Addresses as people write them, each once. `own` says that `to` is the customer's own."""

    to: tuple[str, ...]
    cc: tuple[str, ...]
    own: bool

    @property
    def all(self) -> tuple[str, ...]:
        return self.to + self.cc


def recipients_of(invoice: Invoice) -> Recipients:
    """Return who gets the invoice's e-mail; nobody, where nobody is named and none is known."""
    return recipients(invoice.to, invoice.cc, invoice.customer.email)


def recipients(to: Sequence[str], cc: Sequence[str], email: str) -> Recipients:
    """Return who gets the e-mail of an invoice with these columns, given the customer's."""
    own = email.strip()
    whom = _once(to) or ((own,) if own else ())
    return Recipients(to=whom, cc=_once(cc, but=whom), own=not to)


def parse_list(text: str) -> list[str]:
    """Return the addresses of a field, each once. Raise `Refused`.

    They stand one a line, or parted by commas, semicolons or spaces.
    """
    if any(sign in text for sign in '<>"'):
        raise Refused(
            _("Enter the addresses alone, without names: anna@sol.example, bo@sol.example.")
        )
    addresses = list(_once(part for part in _SEPARATORS.split(text) if part))
    faults = [fault.sentence for address in addresses if (fault := fault_of(address))]
    if len(addresses) > MOST:
        faults.append(_("At most %(most)s addresses can get one e-mail.") % {"most": MOST})
    if faults:
        raise Refused(" ".join(faults[:5]))
    return addresses


def fault_of(address: str) -> Fault | None:
    """Return what is wrong with one address; None for one that can work."""
    if _could_be_several(address):
        sentence = _("“%(address)s” is not one address: correct it.")
        return Fault(sentence=sentence % {"address": _shown(address)}, fatal=True)
    if not address.rpartition("@")[0].isascii():
        sentence = _(
            "“%(address)s” has letters before the @ that e-mail providers do not deliver to: ask "
            "for an address in plain letters."
        )
        return Fault(sentence=sentence % {"address": _shown(address)}, fatal=True)
    if not _plausible(address):
        sentence = _("“%(address)s” does not look like an e-mail address: correct it.")
        return Fault(sentence=sentence % {"address": _shown(address)}, fatal=False)
    return None


def one_address(address: str) -> None:
    """Refuse what is not one address that can be written to; for fields of one."""
    if problem := problem_with(address):
        raise ValidationError(problem, code="address")


def problem_with(address: str) -> str:
    """Say what to mend in one address as it is entered; empty if it can be used."""
    if any(not character.isprintable() for character in address):
        return _("The address must not contain line breaks or control characters.")
    if not address.strip():
        return _("Enter an e-mail address.")
    if any(sign in address for sign in ',;<>"'):
        return _("Enter one address only, without a name: accounts@company.example.")
    if any(character.isspace() for character in address):
        return _("Remove the spaces from the address.")
    return _form(address)


def _form(address: str) -> str:
    if "@" not in address:
        return _("An address needs an @: accounts@company.example.")
    if address.count("@") > 1:
        return _("An address has only one @.")
    local = address.rpartition("@")[0]
    if not local.isascii():
        return _(
            "The part before the @ may only have Latin letters without accents, digits and signs: "
            "e-mail providers refuse “%(part)s”. Letters of any script may follow the @."
        ) % {"part": _shown(local)}
    if not _plausible(address):
        sentence = _("“%(address)s” is not an e-mail address such as accounts@company.example.")
        return sentence % {"address": _shown(address)}
    return ""


def on_the_wire(address: str) -> str:
    """Return the address as a provider gets it: the domain in ASCII, where that is possible."""
    local, at, domain = address.strip().rpartition("@")
    try:
        return f"{local}{at}{_ascii_domain(domain)}"
    except idna.IDNAError:
        return address.strip()


def _ascii_domain(domain: str) -> str:
    return domain if domain.isascii() else idna.encode(domain, uts46=True).decode()


def _plausible(address: str) -> bool:
    local, _at, domain = address.rpartition("@")
    if "." not in domain:
        return False  # Django lets "localhost" pass; no provider does.
    try:
        wire = f"{local}@{_ascii_domain(domain)}"
        validate_email(wire)
    except (ValidationError, idna.IDNAError):
        return False
    return len(wire) <= LONGEST and len(local) <= _LONGEST_LOCAL


def _could_be_several(address: str) -> bool:
    """Tell what could become a second recipient, or a header of its own, on the way."""
    return not address.isprintable() or any(sign in address for sign in ',;<>"')


def _once(addresses: Iterable[str], *, but: Iterable[str] = ()) -> tuple[str, ...]:
    seen = {on_the_wire(address).casefold() for address in but}
    kept = []
    for address in map(str.strip, addresses):
        name = on_the_wire(address).casefold()
        if address and name not in seen:
            seen.add(name)
            kept.append(address)
    return tuple(kept)


def _shown(address: str) -> str:
    shown = "".join(sign if sign.isprintable() else " " for sign in address)
    return shown if len(shown) <= 80 else f"{shown[:79]}…"
