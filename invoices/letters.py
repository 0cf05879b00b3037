"""What an invoice's e-mails say: the default words, or those that an organization has put in.

An organization's text stands in place of the greeting and the first sentences. What must be right
stays ours: the amounts, the dates, how to pay, who sends it.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass

from babel.dates import format_date
from django.core.exceptions import ValidationError
from django.db import transaction
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from invoices import editing, money
from invoices.document import locale_of
from invoices.models import EmailText, Invoice, Organization
from invoices.validation import is_control

logger = logging.getLogger(__name__)

PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    EmailText.Kind.INVOICE: ("number", "customer", "amount", "due", "organization"),
    EmailText.Kind.REMINDER: ("number", "customer", "amount", "due", "organization", "days"),
}
DEFAULT_SUBJECTS: Mapping[str, str] = {
    EmailText.Kind.INVOICE: "Invoice {number} from {organization}",
    EmailText.Kind.REMINDER: "Reminder: invoice {number} is {days} overdue",
}
# What the templates say by default; here only to be shown where an own text can be typed.
DEFAULT_TEXTS: Mapping[str, str] = {
    EmailText.Kind.INVOICE: (
        "Hello {customer},\n\nplease find attached invoice {number} from {organization}."
    ),
    EmailText.Kind.REMINDER: (
        "Hello {customer},\n\ninvoice {number} from {organization} is {days} overdue. "
        "You find it attached once more.\n\n"
        "If you have paid it meanwhile, thank you; then nothing is left to do."
    ),
}
# Whatever stands in one pair of braces is meant as a placeholder: a misspelt one must not be sent.
_BRACED = re.compile(r"\{([^{}\n]*)\}")


@dataclass(frozen=True, kw_only=True)
class Words:
    """The words of one kind of e-mail; an empty part is the default."""

    subject: str = ""
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Letter:
    subject: str
    text: str
    html: str


def row_of(organization: Organization, kind: str) -> EmailText:
    """Return what the organization has put in; a new row, not stored, where it is nothing."""
    found = EmailText.objects.filter(organization=organization, kind=kind).first()
    return found or EmailText(organization=organization, kind=kind)


def words_of(organization: Organization, kind: str) -> Words:
    """Return the words for an e-mail; one query."""
    row = row_of(organization, kind)
    return Words(subject=row.subject, text=row.text)


def keep_words(
    organization: Organization, kind: str, values: Mapping[str, str], *, seen: str, user_id: int
) -> bool:
    """Store what a form found valid, and say whether it was anything new; one transaction.

    Raise `editing.ChangedMeanwhile`; see `editing.write`.
    """
    with transaction.atomic():
        # The row may not be there yet: the organization's stands for it.
        Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
        changed = editing.write(row_of(organization, kind), values, seen=seen)
    if changed:
        logger.info(
            "e-mail text changed",
            extra={"organization": organization.pk, "of": kind, "user": user_id},
        )
    return bool(changed)


def letter_of(
    invoice: Invoice, kind: str, words: Words, *, days_overdue: int | None = None
) -> Letter:
    """Write the e-mail of an invoice whose organization and customer are loaded; no query.

    Placeholders are filled in once: braces in a customer's name stay what they are.
    """
    context = _context(invoice, days_overdue)
    values = _values(invoice, context)
    subject = _one_line(_filled(words.subject or DEFAULT_SUBJECTS[kind], values))
    own_text = _filled(words.text, values)
    own_paragraphs = re.split(r"\n\s*\n", own_text)
    context |= {"subject": subject, "own_text": own_text, "own_paragraphs": own_paragraphs}
    return Letter(
        subject=subject,
        # Django calls what it rendered safe HTML, even a plain text: the sum of both is not.
        text=render_to_string(f"email/{kind}.txt", context) + "",
        html=render_to_string(f"email/{kind}.html", context),
    )


def only_known_placeholders(kind: str, text: str) -> None:
    """Refuse a text with a placeholder that nothing fills in. Raise `ValidationError`."""
    known = PLACEHOLDERS[kind]
    unknown = [name for name in _BRACED.findall(text) if name not in known]
    if unknown:
        raise ValidationError(
            _("There is no %(unknown)s. What you can use: %(known)s")
            % {"unknown": listed(unknown[:5]), "known": listed(known)},
            code="placeholder",
        )


def listed(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join("{" + name + "}" for name in names)


def _filled(text: str, values: Mapping[str, str]) -> str:
    # Not str.format: that would let a text read attributes of what it is given.
    return _BRACED.sub(
        lambda found: values.get(found[1], found[0]), text.replace("\r\n", "\n").strip()
    )


def _values(invoice: Invoice, context: Mapping[str, object]) -> dict[str, str]:
    days = context["days_overdue"]
    return {
        "number": invoice.number,
        "customer": invoice.customer.name or invoice.customer.email,
        "amount": str(context["amount"]),
        "due": str(context["due_on"]),
        "organization": invoice.organization.name,
        "days": "1 day" if days == 1 else f"{days} days",
    }


def _context(invoice: Invoice, days_overdue: int | None) -> dict[str, object]:
    locale = locale_of(invoice)
    return {
        "invoice": invoice,
        "organization": invoice.organization,
        "customer": invoice.customer,
        "amount": money.format_amount(invoice.amount_minor or 0, invoice.currency, locale),
        "issued_on": format_date(invoice.issued_on, format="long", locale=locale),
        "due_on": format_date(invoice.due_on, format="long", locale=locale),
        "days_overdue": days_overdue,
    }


def _one_line(text: str) -> str:
    """Keep a name from becoming a header of its own, whatever way it came into the database."""
    return " ".join("".join(" " if is_control(c) else c for c in text).split())


def mailbox(name: str, address: str) -> str:
    """Return a display name and an address as RFC 5322 wants them, the name always quoted."""
    quoted = _one_line(name).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <{address}>'
