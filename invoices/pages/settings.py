"""The settings pages: what stands in them for those who may only look, and the previews."""

import hashlib
from dataclasses import dataclass

from django.utils.translation import gettext as _

from invoices import choices, letters
from invoices.forms.settings import EmailTextForm
from invoices.letters import Words
from invoices.models import EmailText, Logo, Organization
from invoices.pages.formats import Formats
from invoices.previewing import Preview, preview


@dataclass(frozen=True, kw_only=True)
class Fact:
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class LogoOnPage:
    """The picture's address changes with it, so that no browser shows an old one."""

    version: str
    width: int
    height: int


@dataclass(frozen=True, kw_only=True)
class TextSection:
    """One kind of e-mail on the page of texts."""

    kind: str
    title: str
    form: EmailTextForm
    placeholders: str
    preview: Preview | None
    # Names the words of a draft; empty where the preview shows what is stored.
    draft: str = ""


def organization_facts(organization: Organization) -> list[Fact]:
    """Return what is set, in words, for those who may not change it."""
    facts = (
        (_("Name"), organization.name),
        (_("Sender name"), organization.sender_name or organization.name),
        (_("Reply-to address"), organization.email),
        (_("Postal address"), organization.address),
        (_("Tax ID"), organization.tax_id),
        (_("Payment details"), organization.payment_details),
        (_("Language"), choices.language_name(organization.language)),
        (_("Time zone"), organization.time_zone),
    )
    return [Fact(title=title, text=text) for title, text in facts if text]


def logo_on_page(organization: Organization) -> LogoOnPage | None:
    logo = Logo.objects.filter(organization=organization).defer("content").first()
    if logo is None:
        return None
    return LogoOnPage(version=logo.digest[:12], width=logo.width, height=logo.height)


def text_section(form: EmailTextForm, *, organization: Organization, drafted: bool) -> TextSection:
    """Return the section of a form, with a preview of what is typed, or of what is stored."""
    row: EmailText = form.instance
    words = Words(subject=row.subject, text=row.text)
    if drafted:
        words = _typed(form) or words
    shown = None if drafted and not form.is_valid() else _shown(organization, row.kind, words)
    return TextSection(
        kind=row.kind,
        title=_("Invoice") if row.kind == EmailText.Kind.INVOICE else _("Reminder"),
        form=form,
        placeholders=letters.listed(letters.PLACEHOLDERS[row.kind]),
        preview=shown,
        draft=hashlib.sha256(repr(words).encode()).hexdigest()[:12] if drafted else "",
    )


def _typed(form: EmailTextForm) -> Words | None:
    if not form.is_valid():
        return None
    return Words(subject=form.cleaned_data["subject"], text=form.cleaned_data["text"])


def _shown(organization: Organization, kind: str, words: Words) -> Preview:
    return preview(organization, kind, words, today=Formats.of(organization).today)
