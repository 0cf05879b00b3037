"""The invoices that a form of the list chose: those ticked, or all drafts of its filter."""

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from invoices import bulk_sending
from invoices.listing import Filter
from invoices.models import Invoice, Organization

# PostgreSQL's bigint, beyond which a comparison is an error.
_LAST_ID = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which invoices, what they are in words, and the fields that a form says it with again."""

    ids: Sequence[int]
    words: str
    fields: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, form: QueryDict, organization: Organization) -> Self:
        """Read the repeated field `invoice`, or `all=1` with the list's filter.

        Invoices of other organizations are as good as none. Raises bulk_sending.NothingChosen
        and bulk_sending.TooMany.
        """
        if form.get("all") == "1":
            return cls._drafts(Filter.read(form), organization)
        asked = {int(text) for text in form.getlist("invoice") if _is_id(text)}
        ids = bulk_sending.chosen_ids(Invoice.objects.of(organization).filter(pk__in=asked))
        words = ngettext("%(count)s ticked invoice", "%(count)s ticked invoices", len(ids))
        return cls(
            ids=ids,
            words=words % {"count": f"{len(ids):,}"},
            fields=tuple(("invoice", str(pk)) for pk in ids),
        )

    @classmethod
    def _drafts(cls, chosen: Filter, organization: Organization) -> Self:
        drafts = chosen.invoices(organization).filter(status=Invoice.Status.DRAFT)
        ids = bulk_sending.chosen_ids(drafts)
        return cls(
            ids=ids,
            words=_("All drafts of a list (%(count)s)") % {"count": f"{len(ids):,}"},
            fields=(("all", "1"), *chosen.parameters.items()),
        )

    @property
    def seal(self) -> str:
        """Name exactly these invoices as they are: what is sent must be what was confirmed."""
        shown = ("pk", "amount_minor", "currency", "customer__name", "customer__email", "to", "cc")
        invoices = Invoice.objects.filter(pk__in=self.ids).order_by("pk")
        text = repr(list(invoices.values_list(*shown)))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def once_of(form: QueryDict) -> uuid.UUID | None:
    """Return the one-time id of a confirmed form; None if nothing is confirmed yet."""
    if form.get("confirmed") != "1":
        return None
    try:
        return uuid.UUID(form.get("once", ""))
    except ValueError:
        return None


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _LAST_ID
