"""Why an e-mail came back, in plain words: from a provider's types and from status codes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from deliveries.models import Delivery

_Outcome = Delivery.AfterSending
_LONGEST = 300

# What receiving servers say, by enhanced status code (RFC 3463): all of it, or its last two
# numbers, which mean the same whether it is for now (4) or for good (5).
_BY_CODE = {
    "4.7.0": "the customer's mail server takes it only later",
    "4.7.1": "the customer's mail server takes it only later",
    "1.0": "the address is wrong",
    "1.1": "the mailbox does not exist",
    "1.2": "the domain does not exist",
    "1.3": "the address is wrong",
    "1.6": "the mailbox has moved, and nobody says where to",
    "1.10": "the domain takes no e-mail",
    "2.1": "the mailbox is switched off",
    "2.2": "the mailbox is full",
    "2.3": "the e-mail is too large for the mailbox",
    "3.4": "the e-mail is too large for the mailbox",
    "4.1": "the customer's mail server does not answer",
    "4.4": "the domain's mail server cannot be found",
    "4.7": "the customer's mail server did not take it in time",
    "7.0": "the customer's mail server refused it by its own rules",
    "7.1": "the customer's mail server refused it by its own rules",
}
_CODE = re.compile(r"\b[45]\.(\d{1,2}\.\d{1,3})\b")

# By type and subtype, as Amazon SES and those who stand on it name them.
# https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html
_BY_SUBTYPE = {
    ("permanent", "noemail"): "the mailbox does not exist",
    ("permanent", "general"): "the customer's mail server refused the address for good",
    ("permanent", "suppressed"): "e-mails to this address came back before",
    ("permanent", "onaccountsuppressionlist"): "e-mails to this address came back before",
    ("transient", "mailboxfull"): "the mailbox is full",
    ("transient", "messagetoolarge"): "the e-mail is too large for the mailbox",
    ("transient", "contentrejected"): "the customer's mail server refused what the e-mail says",
    ("transient", "attachmentrejected"): "the customer's mail server refused the attachment",
    ("transient", "general"): "the customer's mail server did not take it for now",
    ("undetermined", "undetermined"): "the customer's mail server did not say why",
}
_BY_WORD = {
    "onaccountsuppressionlist": "e-mails to this address came back before",
    "suppressed": "e-mails to this address came back before",
    "mailboxfull": "the mailbox is full",
    "reached_daily_quota": "the provider's daily quota was used up",
    "reached_monthly_quota": "the provider's monthly quota was used up",
}
_OTHERWISE = {
    _Outcome.BOUNCED: "the customer's mail server refused it",
    _Outcome.BOUNCED_FOR_NOW: "the customer's mail server did not take it for now",
    _Outcome.SUPPRESSED: "e-mails to this address came back before",
    _Outcome.FAILED: "the provider did not say why",
    _Outcome.DELAYED: "the customer's mail server did not take it yet",
}


def reason_of(outcome: Delivery.AfterSending, details: Mapping[str, Any]) -> str:
    """Return why, to go on after a colon; empty where there is nothing to explain."""
    if outcome not in _OTHERWISE:
        return ""
    type_, subtype = (_word(details.get(name)) for name in ("type", "subType"))
    texts = list(_texts(details))
    return (
        _by_code(texts)
        or _BY_SUBTYPE.get((type_, subtype))
        or _BY_WORD.get(subtype)
        or _BY_WORD.get(type_)
        or _BY_WORD.get(_word(details.get("reason")))
        or next((_quoted(text) for text in texts), "")
        or _OTHERWISE[outcome]
    )


_SENTENCES = {
    _Outcome.DELAYED: "Delayed",
    _Outcome.DELIVERED: "The customer's mail server took it",
    _Outcome.BOUNCED_FOR_NOW: "Bounced for now",
    _Outcome.SUPPRESSED: "The provider did not send it on",
    _Outcome.FAILED: "The provider could not deliver it",
    _Outcome.BOUNCED: "Bounced",
    _Outcome.COMPLAINED: "The customer reported it as spam",
}


def sentence(outcome: str, reason: str) -> str:
    """Say what was reported: "Bounced: the mailbox does not exist."."""
    said = _SENTENCES[_Outcome(outcome)]
    return f"{said}: {reason.rstrip('.')}." if reason else f"{said}."


def _by_code(texts: list[str]) -> str:
    codes = (code for text in texts for found in _CODE.finditer(text) for code in found.group(0, 1))
    return next((_BY_CODE[code] for code in codes if code in _BY_CODE), "")


def _texts(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the receiving server and the provider say in their own words."""
    for name in ("diagnosticCode", "diagnostic_code", "message", "reason"):
        value = details.get(name)
        for each in value[:10] if isinstance(value, list) else [value]:
            if isinstance(each, str) and (line := _line(each)):
                yield line


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _quoted(text: str) -> str:
    return f"“{text}”"


def _line(text: str) -> str:
    """Return it on one line, printable and not endless."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:2_000]).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}…"
